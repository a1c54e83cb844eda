"""The demo: example histories that ship with the package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..data import DATA
from ..engine.match import InsufficientHistories
from ..errors import BadUsage, EthogramError
from ..files import write_whole
from .result import Analysis, Checked
from .traces import joined_traces

EXAMPLES = DATA / "examples"
HEADLINES = {
    "conversation": "A conversation: what one message does not show",
    "run": "A run of a tool agent: what one action does not show",
    "usage": "The use of a service: what one visit does not show",
    "risk": "A chat that climbs: what one turn does not show",
    "network": "A network of agents: what one agent does not show",
}
"""Headline of each family of examples, in the order of the demo."""


@dataclass(frozen=True, slots=True)
class Example:
    """One example history."""

    family: str
    path: Path

    @property
    def headline(self) -> str:
        return HEADLINES.get(self.family, self.family.replace("_", " ").capitalize())


def examples() -> list[Example]:
    """The examples in the order of the demo; EthogramError where the package has none."""
    paths = {path.stem: path for path in sorted(EXAMPLES.glob("*.jsonl"))}
    if not paths:
        raise EthogramError(f"there are no examples in {EXAMPLES}; install the package again")
    names = dict.fromkeys((*(name for name in HEADLINES if name in paths), *paths))
    return [Example(name, paths[name]) for name in names]


def copy_examples(to: Path) -> list[Path]:
    """Copy the examples to a folder; BadUsage, and nothing is written, where a file would be overwritten."""
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
    """Several analyses of different sources as one, for one page; each source has its own `as_of`."""
    checked: dict[str, Checked] = {}
    for item in (item for analysis in analyses for item in analysis.checked):
        total = checked.get(item.pattern, Checked(item.pattern, 0, 0, 0, item.missing))
        checked[item.pattern] = Checked(
            item.pattern,
            total.histories + item.histories,
            total.detections + item.detections,
            total.insufficient + item.insufficient,
            tuple(name for name in total.missing if name in item.missing),
        )
    traces = [analysis.traces for analysis in analyses]
    detections = [detection for analysis in analyses for detection in analysis.detections]
    return replace(
        analyses[0],
        detections=tuple(sorted(detections, key=lambda detection: detection.order)),
        kept=tuple(item for analysis in analyses for item in analysis.kept),
        insufficient=InsufficientHistories(
            group for analysis in analyses for group in analysis.insufficient.groups
        ),
        checked=tuple(checked[name] for name in sorted(checked)),
        as_of=max((analysis.as_of for analysis in analyses if analysis.as_of), default=None),
        events=sum(analysis.events for analysis in analyses),
        subjects=sum(analysis.subjects for analysis in analyses),
        traces=joined_traces(traces, [who for trace in traces for who in trace.moments]),
    )
