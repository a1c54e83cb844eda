"""The demo: example histories that ship with the package."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..config import Settings
from ..data import DATA
from ..engine.match import InsufficientHistories
from ..errors import BadUsage, EthogramError
from ..files import write_whole
from ..models import Detection
from ..models.event import INPUT_SCORER
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
BY_HAND = "scores written by hand"
"""Stands in every line about a detection whose scores the author of an example made up."""


@dataclass(frozen=True, slots=True)
class Example:
    """One example history."""

    family: str
    path: Path

    @property
    def headline(self) -> str:
        return HEADLINES.get(self.family, self.family.replace("_", " ").capitalize())

    @property
    def has_scores_by_hand(self) -> bool:
        """Whether an event has a reading that no scorer is named for."""
        lines = map(json.loads, self.path.read_text(encoding="utf-8").splitlines())
        readings = (value for line in lines for value in line.get("readings", {}).values())
        return any(not isinstance(value, dict) or "scorer" not in value for value in readings)

    def titled(self, analysis: Analysis) -> str:
        """The headline, and in the same line what is written by hand and what `chat` says of the text."""
        if not self.has_scores_by_hand:
            return self.headline
        notes = [BY_HAND if all(map(is_by_hand, analysis)) else f"some {BY_HAND}"]
        if self.family == "risk":
            notes.append(f"from the text `ethogram chat` says {highest_mode(self.path)}")
        return f"{self.headline} ({'; '.join(notes)})"


def is_by_hand(detection: Detection) -> bool:
    """Whether evidence of a detection came with the events and names no scorer."""
    return INPUT_SCORER in detection.scorer.split(", ")


def labelled(analysis: Analysis) -> Analysis:
    """The analysis of an example whose detections by scores written by hand say so, in title and sentence."""
    detections = [
        replace(
            detection,
            title=f"{detection.title} ({BY_HAND})",
            explanation=f"{BY_HAND.capitalize()}: {detection.explanation}",
        )
        if is_by_hand(detection)
        else detection
        for detection in analysis.detections
    ]
    return replace(analysis, detections=tuple(detections))


def highest_mode(path: Path) -> str:
    """The highest mode that `ethogram chat` gives a conversation in a file, with default settings."""
    from .chat.conversation import Conversation
    from .chat.files import read_turns
    from .chat.scores import follow

    def new_conversation(name: str, subject: str) -> Conversation:
        return Conversation(name, subject=subject, settings=Settings())

    return max(turn.state.mode for turn in follow(read_turns(str(path)), new_conversation, {})).name


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
        traces=joined_traces(traces, [key for trace in traces for key in trace.moments]),
    )
