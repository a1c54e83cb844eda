"""The demo: example histories that ship with the package, and where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..data import DATA
from ..errors import BadUsage, EthogramError
from ..files import write_whole
from .analyze import Analysis, Checked
from .traces import Traces

EXAMPLES = DATA / "examples"
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
    pairs = [(example.path.read_bytes(), to / example.path.name) for example in examples()]
    if to.exists() and not to.is_dir():
        raise BadUsage(f"{to} is a file; --copy takes a folder")
    taken = [str(path) for content, path in pairs if path.exists() and path.read_bytes() != content]
    if taken:
        raise BadUsage(f"{', '.join(taken)} would be overwritten; choose another folder")
    to.mkdir(parents=True, exist_ok=True)
    for content, path in pairs:
        write_whole(path, [content.decode()], mode=0o666)
    return [path for _, path in pairs]


def together(analyses: Sequence[Analysis]) -> Analysis:
    """Several analyses of different sources as one, for one page; each source keeps its own moment."""
    checked: dict[str, Checked] = {}
    for analyse in (item for analysis in analyses for item in analysis.checked):
        seen = checked.get(analyse.pattern, Checked(analyse.pattern, 0, 0, 0))
        checked[analyse.pattern] = Checked(
            analyse.pattern,
            seen.histories + analyse.histories,
            seen.detections + analyse.detections,
            seen.insufficient + analyse.insufficient,
        )
    traces = [analyse.traces for analyse in analyses]
    detections = [detection for analysis in analyses for detection in analysis.detections]
    return replace(
        analyses[0],
        detections=tuple(sorted(detections, key=lambda detection: detection.order)),
        kept=tuple(item for analysis in analyses for item in analysis.kept),
        insufficient=tuple(item for analysis in analyses for item in analysis.insufficient),
        checked=tuple(checked[name] for name in sorted(checked)),
        as_of=max((analyse.as_of for analyse in analyses if analyse.as_of), default=None),
        events=sum(analyse.events for analyse in analyses),
        subjects=sum(analyse.subjects for analyse in analyses),
        traces=Traces(
            tuple(line for trace in traces for line in trace.lines),
            {who: times for trace in traces for who, times in trace.moments.items()},
            {source: at for trace in traces for source, at in trace.as_of.items()},
            frozenset().union(*(trace.untimed for trace in traces)),
        ),
    )
