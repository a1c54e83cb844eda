"""What a gate asks of one program: whether something may begin or go on with an event."""

from __future__ import annotations

from collections.abc import Mapping

from ..program import LevelProgram, SequenceProgram, SilenceProgram
from ..tree import Difference, Expr, Measure
from .here import Shared, TooDeep
from .may import Quick, joined
from .reduce import Carried
from .running import Sums
from .track import Track


class Ask:
    """The questions about one program at events of one kind, as source."""

    def __init__(
        self, number: int, track: Track, carried: Carried, places: Mapping[str, int], shared: Shared
    ) -> None:
        self.number, self.track, self.carried, self.shared = number, track, carried, shared
        self.quick = Quick(track.plan.captures, carried, places, shared)

    def pure(self) -> tuple[str, str]:
        """For a program without rows: whether something begins while it sleeps, and whether it must step."""
        try:
            self._running()
            return self._begins(), self._question()
        except TooDeep:
            return "True", "True"

    def ask(self) -> list[str]:
        self._running()
        found = f"H |= {1 << self.number}"
        begins, question = self._begins(), self._question()
        if begins == "True" or question == "False":
            return [found] if begins == "True" else []
        asked = [f"if not A & {1 << self.number}:", " s = W.state", f" if {question}: {found}"]
        if begins == "False":
            return asked
        return [f"if {begins}: {found}", f"el{asked[0]}", *asked[1:]]

    def _begins(self) -> str:
        """Whether something may begin while nothing is under way."""
        match self.track.program.body:
            case SequenceProgram() as body:
                return self.quick.may(body.places[0].condition)
            case LevelProgram() as body:
                return self.quick.may(body.when)
            case SilenceProgram() as body:
                return self._waits(body)
        return "True"

    def _running(self) -> None:
        quick, plan = self.quick, self.track.plan
        for expr, (is_whole, k) in plan.running.of.items():
            running = (plan.running.whole if is_whole else plan.running.own)[k]
            known = quick.runs if isinstance(running, Sums) else quick.most
            known[expr] = ("w" if is_whole else "b", k)
        for slot, (kind, of, where) in enumerate(plan.layout.wanted):
            for name in ("max", "min"):
                self.quick.newest |= {
                    one: f"x{slot}"
                    for one in plan.running.compared
                    if isinstance(one, Measure)
                    and one.name == name
                    and (kind, of, where) == ("number", one.of, one.window.where)
                    and one.window.skip is None
                    and one.window.since is None
                    and not one.window.over_subject
                }
        for expr, far in plan.far.items():
            name = f"far{self.number}_{len(quick.far)}"
            self.shared.names[name] = far
            quick.far[expr] = name
            if isinstance(expr, Difference):
                few = name.replace("far", "few")
                self.shared.names[few] = plan.few[expr]
                quick.few[expr] = few

    def _question(self) -> str:
        """Whether a program must take a step for which something is under way, or that knows nothing yet."""
        match self.track.program.body:
            case SequenceProgram() as body:
                return self._sequence(body)
            case LevelProgram() as body:
                return joined(["s.open is not None", self._unknown(body.when)], "or", "True", "False")
            case SilenceProgram() as body:
                return "s.deadline is not None"
        return "True"

    def _waits(self, body: SilenceProgram) -> str:
        after = "True" if body.after is None else self.quick.may(body.after)
        enough = [f"S.n >= {body.at_least}"] if body.at_least > 1 else []
        return joined([*enough, after], "and", "False", "True")

    def _unknown(self, condition: Expr) -> str:
        """Whether the condition could not be judged so far, where such an event can change that."""
        return joined(["not s.known", self.quick.knowable(condition)], "and", "False", "True")

    def _sequence(self, body: SequenceProgram) -> str:
        first = body.places[0].condition
        later = [text for i in range(1, len(body.places)) if (text := self._place(body, i)) != "False"]
        standing = joined(later, "or", "True", "False")
        parts = [self._unknown(first)]
        if standing != "False":
            parts.append(joined(["not s.idle", standing], "and", "False", "True"))
        return joined(parts, "or", "True", "False")

    def _place(self, body: SequenceProgram, i: int) -> str:
        """Whether an event matters to a chain that waits for place i."""
        may, place = self.quick.may, body.places[i]
        between = [may(one) for one in place.nevers]
        between += [may(one.condition) for one in body.optionals if one.after == i - 1]
        here = may(place.condition)
        if place.nevers:
            here = joined([f"not s.blocked[{i}]", here], "and", "False", "True")
        text = joined([here, *between], "or", "True", "False")
        if text == "False":
            return text
        # C is what the steps of the chain captured, as conditions that name them read it.
        return f"((B := s.standing[{i - 1}]) is not None and ((C := B.last) is None or {text}))"
