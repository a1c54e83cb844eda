"""A conversation on the terminal: a line a turn, and under it what moved the risk."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .output import printable, write_line

if TYPE_CHECKING:
    from ..app.chat import Scored


BLOCKS, ASCII = "▁▂▃▄▅▆▇█", "_.-:=+*#"
"""Heights of a sparkline, from risk 0 to 1; the second where the first cannot be written."""
WIDTH = 20
"""Turns that a sparkline shows."""
NEXT_TO_NOTHING = 0.005
REASONS = 3
"""Reasons shown under a turn."""
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


class Writer:
    """Writes turns; keeps the newest risks of each conversation for its sparkline."""

    def __init__(self, *, signals: bool = False, excerpts: bool = False) -> None:
        self._signals, self._excerpts = signals, excerpts
        self._risks: dict[str, list[float]] = {}
        self._last: str | None = None
        self._heights = heights()
        self._coloured = coloured()
        self._explains = False

    def turn(self, one: Scored) -> None:
        """One turn; before the first of a conversation and where two take turns, its name."""
        thread = one.turn.thread
        if thread != self._last:
            if self._last is not None:
                write_line("")
            write_line(printable(thread[:120]))
            self._last = thread
        risks = self._risks[thread] = [*self._risks.get(thread, ()), one.state.risk][-WIDTH:]
        write_line(self._line(one, risks))
        for line in under(one, signals=self._signals):
            write_line(printable(f"{'':6}{line}"))
            self._explains = True

    def close(self) -> None:
        """How the numbers under the turns make up the risk, where there were any."""
        from ..app.chat import COMBINED

        if self._explains:
            write_line(f"\n{COMBINED}")

    def _line(self, one: Scored, risks: Sequence[float]) -> str:
        from ..app.chat import excerpt

        name = one.state.mode.name
        mode = f"{name:8}"
        if self._coloured and name in STYLES:
            mode = f"{STYLES[name]}{mode}{RESET}"
        bars = sparkline(risks, self._heights)
        said = f"  {printable(excerpt(one.turn.text))}" if self._excerpts else ""
        who = f"{one.number:4}  {one.turn.role:9}"
        return f"{who}  {mode}  {one.state.risk:.2f}  {bars:{WIDTH}}{said}".rstrip()


def under(one: Scored, *, signals: bool = False) -> Iterator[str]:
    """What moved the risk, the most first, what else it stands on, and what was detected.

    Every signal where they are asked for.
    """
    from ..app.chat import changes, reason_of, standing

    moved = changes(one, REASONS)
    for each in moved:
        yield f"{each.by:+.2f} {each.name}: {reason_of(each, one.state)}"
    yield from standing(one, moved=bool(moved))
    for found in one.detections:
        yield f"detected {found.pattern} ({found.severity}): {found.explanation}"
    for signal in one.state.signals if signals else ():
        value = "-" if signal.value is None else f"{signal.value:.2f}"
        adds = f" (adds {signal.adds:.2f})" if signal.adds >= NEXT_TO_NOTHING else ""
        yield f"{signal.name:16} {value:>4}  {signal.reason}{adds}"


def written(told: Mapping[str, Any], *, summed: bool = False) -> None:
    """The last line of a conversation."""
    if not summed:
        write_line("")
    write_line(printable(summed_up(told)))


def summed_up(told: Mapping[str, Any]) -> str:
    """How far a conversation went, and when.

    >>> told = {"conversation": "c1", "turns": 9, "highest_mode": "ELEVATED", "highest_risk": 0.41}
    >>> summed_up({**told, "first": {"CAUTIOUS": 5, "ELEVATED": 7}, "patterns": {}})
    'c1: 9 turns, highest ELEVATED 0.41; CAUTIOUS from turn 5, ELEVATED from turn 7'
    """
    from ..app.chat import rises

    turns = f"{told['turns']} turn{'' if told['turns'] == 1 else 's'}"
    line = f"{told['conversation'][:120]}: {turns}, highest {told['highest_mode']} {told['highest_risk']:.2f}"
    when = [f"{mode} from turn {turn}" for mode, turn in rises(told["first"])]
    found = [f"{name} at turn {turn}" for name, turn in told["patterns"].items()]
    return "; ".join(part for part in (line, ", ".join(when), ", ".join(found)) if part)


def heights() -> str:
    """Bars that standard output can show."""
    try:
        BLOCKS.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return BLOCKS


def coloured() -> bool:
    """Whether a person looks who has not asked for no colours."""
    import os

    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
