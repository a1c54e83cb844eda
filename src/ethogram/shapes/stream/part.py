"""One program's part of a gate: moving its rows on by an event, then asking whether it must step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tree import Arithmetic, Compare, Elapsed, Expr, Function, Indicator, Negative, Number
from .ask import Ask
from .here import TooDeep
from .layout import ELAPSED, column_source
from .reduce import ABSENT, FALSE, TRUE
from .rows import Layout
from .running import Running, maker, update_source


def _alike(kind: str, of: Any) -> Any:
    """The same for columns that hold the same: what is always a number is one either way."""
    return ("number" if isinstance(of, (Elapsed, Function, Arithmetic, Negative)) else kind, of)


class Part(Ask):
    """One program's part of a gate."""

    # Moving on.

    def lines(self, *, timed: bool) -> list[str]:
        """Move the program's rows on, then ask whether it must take a step."""
        head = [f"W = cell[{self.number}] or start(cell, {self.number}, E)", "S = W.rows"]
        if self.track.timed_only and not timed:
            return [*head, "S.n += 1"]
        try:
            plan = self.track.plan
            whole = ["w = S.whole.running"] if plan.running.whole else []
            return [*head, *self._enter(plan.layout, plan.running.own), *whole, *self.ask()]
        except TooDeep:
            enter = f"enter{self.number}"
            self.shared.names[enter] = self.track.enter
            entered = f"{enter}(S, E, mark, {self.carried.evaluated}); S.running[0] = -1"
            return [*head, entered, f"H |= {1 << self.number}"]

    def whole(self) -> list[str]:
        """Move the subject's whole history on."""
        plan = self.track.plan
        assert plan.whole_layout is not None
        head = [f"S = cell[{self.number}] or start(cell, {self.number}, E)"]
        try:
            return [*head, *self._enter(plan.whole_layout, plan.running.whole)]
        except TooDeep:
            enter = f"enter{self.number}"
            self.shared.names[enter] = self.track.whole_enter
            return [*head, f"{enter}(S, E, mark, {self.carried.evaluated}); S.running[0] = -1"]

    def _enter(self, layout: Layout, running: Sequence[Running]) -> list[str]:
        lines = [line[1:] for line in ELAPSED] if layout.elapsed else []
        # A step sets the time itself; between steps only these ask for it.
        timed = (
            layout.elapsed
            or layout.keeps
            or not self.track.is_level
            or layout is self.track.plan.whole_layout
        )
        lines += ["S.n = n = S.n + 1" + ("; S.us = us" if timed else "")]
        lines += ["times = S.times; times.append(us); L = len(times)"] if layout.need else []
        lines += ["S.marks.append(mark)"] if layout.need and layout.with_marks else []
        lines += ["c = S.columns"] if layout.wanted else []
        known: dict[Any, str] = {}
        for slot, (kind, of, where) in enumerate(layout.wanted):
            known[_alike(kind, of), where] = f"x{slot}"
            lines += [f"x{slot} = {self._column(kind, of, where)}", f"c[{slot}].append(x{slot})"]
        for slot, (kind, of, where, most) in enumerate(layout.kept):
            name = known.get((_alike(kind, of), where))
            if name is None:
                name = known[_alike(kind, of), where] = f"k{slot}"
                lines.append(f"{name} = {self._column(kind, of, where)}")
            lines += [
                f"if {name} is not None:",
                f" q = S.kept[{slot}]; q.append(new(Kept, (n - 1, us, {name}, mark)))",
                f" if len(q) > {most + 32}: del q[:-{most}]",
            ]
        if running:
            anew = f"anew{self.number}"
            self.shared.names[anew] = maker(running)
            # What enters a window that skips is read into a name of its own: the newest stays as it is.
            values = ["z" if getattr(one, "skip", 0) else f"x{one.column}" for one in running]
            lines += update_source(running, values, anew)
        return lines + ([f"if L > {2 * layout.need + 32}: trim(S, {layout.need})"] if layout.need else [])

    def _column(self, kind: str, of: Any, where: Expr | None) -> str:
        """Source of a column's value here; 'None' where it is clear that it is absent."""
        counts = TRUE if where is None else self.carried.reduce(where)
        if counts in (FALSE, ABSENT):
            return "None"
        if kind == "found":
            text = self._found(of)
        else:
            reduced = self.carried.reduce(of)
            if kind == "true" and reduced in (TRUE, FALSE, ABSENT):
                text = str(reduced == TRUE)
            elif reduced == ABSENT:
                return "None"
            else:
                text = column_source(self.quick, kind, reduced, None)
        return text if counts == TRUE else f"({text} if {self.quick.true(counts)} else None)"

    def _found(self, items: tuple[Indicator, ...]) -> str:
        """Which indicators are above 0, as bits. Those not carried are 0 where the event is evaluated."""
        if not items:
            return "None"
        if not self.carried.evaluated:
            if self.carried.names.isdisjoint(item.name for item in items):
                return "None"
            raise TooDeep
        here = [(j, item) for j, item in enumerate(items) if item.name in self.carried.names]
        bits = [
            f"({1 << j} if {self.quick.true(Compare('>', item, Number(0.0)))} else 0)" for j, item in here
        ]
        text = f"({' | '.join(bits) or '0'})"
        if len(here) < len(items):
            return text
        known = " or ".join(f"{self.quick.number(item)} is not None" for item in items)
        return f"({text} if {known} else None)"
