"""Conversations as text: a line per turn, what moved the risk, and how far each went."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..app.chat.scores import COMBINED, Scored, changes, excerpt, reason_of, rises, standing
from ..chat.records import Mode
from .wording import clean, plural, printable

BLOCKS, ASCII = "▁▂▃▄▅▆▇█", "_.-:=+*#"
"""Heights of a sparkline, from risk 0 to 1; the second where the first cannot be written."""
WIDTH = 20
"""Turns in a sparkline."""
MINOR = 0.005
UNMEASURED = "not measured"
REASONS = 3
"""Reasons under a turn."""
STYLES = {
    "CAUTIOUS": "\x1b[36m", "ELEVATED": "\x1b[33m", "SUSPECT": "\x1b[1;33m", "CRITICAL": "\x1b[1;31m",
    "UNSAFE": "\x1b[1;31m",
}  # fmt: skip
RESET = "\x1b[0m"


def sparkline(risks: Sequence[float], heights: str = BLOCKS, width: int = WIDTH) -> str:
    """The newest risks as a line of bars.

    >>> sparkline([0.0, 0.2, 0.5, 0.9, 1.0])
    '▁▂▅██'
    """
    top = len(heights) - 1
    return "".join(heights[min(top, max(0, int(risk * len(heights))))] for risk in risks[-width:])


class TurnWriter:
    """Turns as lines; remembers the newest risks of each conversation for its sparkline."""

    def __init__(self, *, signals: bool = False, excerpts: bool = False) -> None:
        self._signals, self._excerpts = signals, excerpts
        self._risks: dict[str, list[float]] = {}
        self._last: str | None = None
        self._heights = heights()
        # Standard output is a terminal whose user has not turned colours off.
        self._coloured = (
            sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        )
        self._explains = False

    def turn(self, turn: Scored) -> Iterator[str]:
        """One turn; the name of its conversation comes first where another one was shown before."""
        thread = turn.turn.thread
        if thread != self._last:
            if self._last is not None:
                yield ""
            yield printable(thread[:120])
            self._last = thread
        risks = self._risks[thread] = [*self._risks.get(thread, ()), turn.state.risk][-WIDTH:]
        yield self._line(turn, risks)
        for line in under(turn, signals=self._signals):
            yield printable(f"{'':6}{line}")
            self._explains = True

    def close(self) -> Iterator[str]:
        """How the numbers under the turns make up the risk, where there were any."""
        if self._explains:
            yield f"\n{COMBINED}"

    def _line(self, turn: Scored, risks: Sequence[float]) -> str:
        name = turn.state.mode.name
        mode = f"{name:8}"
        if self._coloured and name in STYLES:
            mode = f"{STYLES[name]}{mode}{RESET}"
        # Nothing is known of a conversation that was never understood.
        where = f"{UNMEASURED:14}" if is_unmeasured(turn) else f"{mode}  {turn.state.risk:.2f}"
        bars = sparkline(risks, self._heights)
        text = f"  {printable(excerpt(turn.turn.text))}" if self._excerpts else ""
        who = f"{turn.number:4}  {turn.turn.role:9}"
        return f"{who}  {where}  {bars:{WIDTH}}{text}".rstrip()


def is_unmeasured(turn: Scored) -> bool:
    """Whether a turn was not measured and nothing before it gives its mode."""
    return bool(turn.state.not_measured) and turn.state.mode == Mode.SAFE


def reasons(turn: Scored, most: int) -> Iterator[tuple[str, str, str]]:
    """What moved the risk of a turn, the most first, what else it stands on, and what was detected.

    Triples of a kind (up, down, kept, found), a heading and a text.
    """
    moved = changes(turn, most)
    for change in moved:
        text = f"{clean(change.name)}: {clean(reason_of(change, turn.state))}"
        yield "up" if change.by > 0 else "down", f"{change.by:+.2f}", text
    for line in standing(turn, moved=bool(moved)):
        yield "kept", "", clean(line)
    for detection in turn.detections:
        yield (
            "found",
            f"detected {clean(detection.pattern)} ({detection.severity})",
            clean(detection.explanation),
        )


def under(turn: Scored, *, signals: bool = False) -> Iterator[str]:
    """The lines under a turn; with `signals`, every signal too."""
    for kind, head, text in reasons(turn, REASONS):
        yield text if kind == "kept" else f"{head}: {text}" if kind == "found" else f"{head} {text}"
    for signal in turn.state.signals if signals else ():
        value = "-" if signal.value is None else f"{signal.value:.2f}"
        adds = f" (adds {signal.adds:.2f})" if signal.adds >= MINOR else ""
        yield f"{signal.name:16} {value:>4}  {signal.reason}{adds}"


def rises_text(record: Mapping[str, Any]) -> str:
    """From which turn each higher mode was reached."""
    return ", ".join(f"{mode} from turn {turn}" for mode, turn in rises(record["first"]))


def summary_line(record: Mapping[str, Any]) -> str:
    """How far a conversation went, and when.

    >>> record = {"conversation": "c1", "turns": 9, "highest_mode": "ELEVATED", "highest_risk": 0.41}
    >>> known = {"patterns": {}, "user_turns": 5, "not_measured": {}}
    >>> summary_line({**record, **known, "first": {"CAUTIOUS": 5, "ELEVATED": 7}})
    'c1: 9 turns, highest ELEVATED 0.41; CAUTIOUS from turn 5, ELEVATED from turn 7'
    """
    line = f"{record['conversation'][:120]}: {plural(record['turns'], 'turn')}, {highest_text(record)}"
    detected = ", ".join(f"{name} at turn {turn}" for name, turn in record["patterns"].items())
    parts = (line, rises_text(record), detected, evaluator_text(record))
    return printable("; ".join(part for part in parts if part))


def highest_text(record: Mapping[str, Any]) -> str:
    """How far a conversation went, and how much of it was not measured."""
    highest = f"highest {record['highest_mode']} {record['highest_risk']:.2f}"
    reasons: Mapping[str, int] = record["not_measured"]
    if not reasons:
        return highest
    why, count = ", ".join(reasons), sum(reasons.values())
    if never_measured(record):
        return f"{UNMEASURED}: {why}"
    return f"{highest}, {count} of {plural(record['user_turns'], 'user turn')} {UNMEASURED}: {why}"


def never_measured(record: Mapping[str, Any]) -> bool:
    """Whether nothing that the person said was measured."""
    missed: int = sum(record["not_measured"].values())
    return 0 < missed == record["user_turns"] and bool(record["highest_mode"] == "SAFE")


def evaluator_text(record: Mapping[str, Any]) -> str:
    """What an evaluator answered, and what it cost; '' without one."""
    questions = record.get("questions")
    if questions is None:
        return ""
    cost = f"${record['spent']:.4f}" if "spent" in record else "cost unknown"
    answer = f"{record['confirmation']}, " if record.get("confirmation") else ""
    return f"evaluator: {answer}{plural(questions, 'question')}, {cost}"


def heights() -> str:
    """Bars that standard output can show."""
    try:
        BLOCKS.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return BLOCKS
