"""The demo: example histories that ship with the package, and where they are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..errors import BadUsage, EthogramError

EXAMPLES = Path(__file__).parents[1] / "examples"
HEADLINES = {
    "conversation": "A conversation: what one message does not show",
    "run": "A run of a tool agent: what one action does not show",
    "usage": "The use of a service: what one visit does not show",
    "risk": "A chat that climbs: what one turn does not show",
    "network": "A network of agents: what one agent does not show",
}
"""What each family of examples is about, in the order of the demo."""


@dataclass(frozen=True, slots=True)
class Example:
    """One example history."""

    family: str
    path: Path

    @property
    def headline(self) -> str:
        """What it is about."""
        return HEADLINES.get(self.family, self.family.replace("_", " ").capitalize())


def examples() -> list[Example]:
    """The examples in the order of the demo; EthogramError where the package has none."""
    folder = EXAMPLES
    found = {path.stem: Example(path.stem, path) for path in sorted(folder.glob("*.jsonl"))}
    if not found:
        raise EthogramError(f"there are no examples in {folder}; install the package again")
    listed = [name for name in HEADLINES if name in found]
    return [found[name] for name in (*listed, *(name for name in found if name not in HEADLINES))]


def copy_examples(to: Path) -> list[Path]:
    """The copies written. A file of that name with other content is left alone: BadUsage, nothing written."""
    pairs = [(one.path.read_bytes(), to / one.path.name) for one in examples()]
    if to.exists() and not to.is_dir():
        raise BadUsage(f"{to} is a file; --copy takes a folder")
    taken = [str(path) for content, path in pairs if path.exists() and path.read_bytes() != content]
    if taken:
        raise BadUsage(f"{', '.join(taken)} would be overwritten; choose another folder")
    to.mkdir(parents=True, exist_ok=True)
    for content, path in pairs:
        path.write_bytes(content)
    return [path for _, path in pairs]
