"""Programs in Cypher: where a shape holds, found by the server itself.

The events of a history become a list; a measure is a list with one value for each event; a sequence or
threshold is one `reduce` over the events, as docs/language.md defines it. Numbers in windows are integers of
millionths. Only what Cypher 5 and Cypher 25 share is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...language.aggregates import options_of
from ...language.ast import (
    And,
    AnyOf,
    Arithmetic,
    Attribute,
    Compare,
    Duration,
    Elapsed,
    Events,
    Expr,
    Function,
    Indicator,
    Known,
    Limits,
    Measure,
    Member,
    Negative,
    Not,
    Number,
    Or,
    OrElse,
    Signal,
    StepCount,
    StepMean,
    StepValue,
    Text,
)
from ...language.history import CAP, FIELDS
from ...language.program import Place, Program, SequenceProgram, ThresholdProgram
from ...language.visitor import walk
from ...models import INPUT_SCORER, TRAITS, is_indicator_name
from ..rows import NOT_KEPT
from .events import number_property

MEASURES = ("count", "share", "sum", "mean", "min", "max", "distinct", "usual")
"""Measures that Cypher computes; the others need the events."""
TOLERANCE = "1e-9"
LARGEST = "1.7976931348623157e308"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SIMPLE = re.compile(r"[\w.$\[\]]+")
_CONSTANT = re.compile(r"\d+\.\d+(e[+-]?\d+)?")
_LARGER = "CASE WHEN size > most THEN size ELSE most END"


class Inexpressible(Exception):
    """A program that Cypher cannot express; the message says what of it."""


class Query(NamedTuple):
    """A query with its parameters. It returns source, key, have, judged and matches of histories.

    A match is the ids of a sequence's matched events, or those at which a threshold opened and closed.
    """

    text: str
    values: dict[str, Any]


class Value(NamedTuple):
    """Cypher for the number, text or truth that an expression gives; a reading may be number or text."""

    number: str | None = None
    text: str | None = None
    truth: str | None = None


def query_of(
    program: Program,
    *,
    timed: bool = True,
    scorers: Mapping[str, str] | None = None,
    cap: int = CAP,
    literals: bool = False,
) -> Query:
    """The query of a program for the sources with times, or for those without.

    `scorers` as in the settings. `literals`: texts stand in the query, for people to paste; it then looks at
    all subjects, else at those in `$who`, up to `$until`. Raises Inexpressible.
    """
    return _Writer(program, timed, scorers or {}, cap, literals).query()


def why_not(program: Program) -> str:
    """Why Cypher cannot express a program; '' where it can.

    A sequence or threshold can be, over any conditions and the measures in MEASURES.
    """
    try:
        query_of(program)
    except Inexpressible as error:
        return str(error)
    return ""


def literal(text: str) -> str:
    """A text as a Cypher literal.

    >>> print(literal("it's"))
    'it\\'s'
    """
    plain = text.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + "".join(c if " " <= c <= "~" else _escaped(c) for c in plain) + "'"


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


class _Writer:
    """Writes one query. Methods take the Cypher of a position in `events`, and give Cypher."""

    def __init__(
        self, program: Program, timed: bool, scorers: Mapping[str, str], cap: int, literals: bool
    ) -> None:
        self.program, self.timed, self.scorers, self.cap, self.literals = (
            program,
            timed,
            scorers,
            cap,
            literals,
        )
        self.values: dict[str, Any] = {}
        self.columns: dict[str, str] = {}
        self.measures: dict[Measure, str] = {}
        self.lists: dict[Expr, str] = {}
        self.fresh = 0
        self.listed = "events"
        """The list that positions are of: `events`, or `own`, those of the subject whatever their key."""
        self.chain: tuple[str, int] | None = None
        """While a place's condition is written: the positions matched before it, and the place's number."""

    def query(self) -> Query:
        body = self.program.body
        if isinstance(body, SequenceProgram):
            first, found, matches = self._sequence(body)
        elif isinstance(body, ThresholdProgram):
            first, found, matches = self._threshold(body)
        else:
            raise Inexpressible(f"a {_shape(self.program)} is not found in Cypher")
        keys = [f"key{n}" for n in range(len(self.program.group_by))]
        held = [f"{self._key(name)} AS {key}" for name, key in zip(self.program.group_by, keys, strict=True)]
        membership = self._membership()
        present = " AND ".join([*(f"{key} IS NOT NULL" for key in keys), *membership])
        gathered = [f"WITH source, {', '.join(keys)}, collect(event) AS events"]
        if any(measure.window.over_subject for measure in self.measures):
            present = " AND ".join(membership or ["true"])
            known = " AND ".join(f"e.{key} IS NOT NULL" for key in keys)
            values = f"[{', '.join(f'e.{key}' for key in keys)}]"
            named = ", ".join(f"key[{n}] AS {key}" for n, key in enumerate(keys))
            same = " AND ".join(f"own[place].{key} = key[{n}]" for n, key in enumerate(keys))
            # Not grouped by place: the server counts a list in each row that has it.
            gathered = [
                "WITH source, m.subject AS subject, collect(event) AS own",
                "UNWIND reduce(keys = [], e IN own |",
                f"  CASE WHEN {known} AND NOT {values} IN keys THEN keys + [{values}] ELSE keys END) AS key",
                f"WITH source, own, {named}, [place IN range(0, size(own) - 1) WHERE {same}] AS places",
                "WITH *, [place IN places | own[place]] AS events",
            ]
        own = [f"{key}: {self._key(name)}" for name, key in zip(self.program.group_by, keys, strict=True)]
        entries = [
            "id: m.id",
            "at: m.at_us",
            *(own if len(gathered) > 1 else ()),
            *(f"{name}: {code}" for name, code in self.columns.items()),
        ]
        measures = [f"{self._measure_list(measure)} AS {name}" for measure, name in self.measures.items()]
        conditions = [f"{_each(code)} AS {name}" for name, code in self._condition_codes.items()]
        lines = [
            "MATCH (s:Subject)-[:SENT]->(m:Message)",
            f"WHERE m.timed = {int(self.timed)}" + ("" if self.literals else " AND m.at_us <= $until"),
            f"WITH m, m.source AS source, {', '.join(held)},",
            f"  {{{', '.join(entries)}}} AS event",
            f"ORDER BY m.at_us, m.seq, m.id WHERE {present}",
            *gathered,
            *(f"WITH *, {code}" for code in (*measures, *conditions)),
            f"WITH *, {found} AS found",
            f"WITH *, {matches} AS matches, any(x IN {first} WHERE x IS NOT NULL) AS judged",
            "WHERE size(matches) > 0" + ("" if self.literals else " OR NOT judged"),
            f"RETURN source, [{', '.join(keys)}] AS key, size(events) AS have, judged, matches",
            f"ORDER BY source, {', '.join(keys)}",
        ]
        if not self.literals:
            lines[0] = (
                "UNWIND $who AS who\nMATCH (s:Subject {source: who[0], id: who[1]})-[:SENT]->(m:Message)"
            )
        return Query("\n".join(lines), self.values)

    # --- shapes -------------------------------------------------------------------------

    @property
    def _condition_codes(self) -> dict[str, str]:
        return {name: self.truth(expr, "i") for expr, name in self.lists.items()}

    def _holds(self, expr: Expr) -> str:
        """The list with the truth of a condition at each event."""
        if expr not in self.lists:
            self.truth(expr, "i")  # so that its columns and measures are known
            self.lists[expr] = f"holds{len(self.lists)}"
        return self.lists[expr]

    def _sequence(self, body: SequenceProgram) -> tuple[str, str, str]:
        first = self._holds(body.places[0].condition)
        last = len(body.places) - 1
        state = [f"chain{n}: null" for n in range(last)]
        nevers = [(n, never) for n, place in enumerate(body.places) for never in place.nevers]
        state += [f"never{k}: -1" for k in range(len(nevers))]
        stands = []
        for n, place in enumerate(body.places):
            own = [k for k, (number, _) in enumerate(nevers) if number == n]
            stands.append((self._stands(place, n, own), "[i]" if n == 0 else f"state.chain{n - 1} + [i]"))
        entries = [
            f"chain{n}: CASE WHEN {holds} THEN {chain} ELSE state.chain{n} END"
            for n, (holds, chain) in enumerate(stands[:last])
        ]
        entries += [
            f"never{k}: CASE WHEN {self._holds(never)}[i] THEN i ELSE state.never{k} END"
            for k, (_, never) in enumerate(nevers)
        ]
        within = self._near(body.within, "full[0]", "i", both_ends=True)
        fires = " AND ".join(["full IS NOT NULL", "full[0] > state.fired", *within])
        entries += [
            f"fired: CASE WHEN {fires} THEN i ELSE state.fired END",
            f"out: CASE WHEN {fires} THEN state.out + [full] ELSE state.out END",
        ]
        full = f"CASE WHEN {stands[last][0]} THEN {stands[last][1]} END"
        step = f"head([full IN [{full}] | {{{', '.join(entries)}}}])"
        start = ", ".join([*state, "fired: -1", "out: []"])
        found = f"reduce(state = {{{start}}}, i IN range(0, size(events) - 1) |\n    {step}).out"
        return first, found, "[chain IN found | [t IN chain | events[t].id]]"

    def _stands(self, place: Place, n: int, nevers: Sequence[int]) -> str:
        """The condition that places 1..n+1 stand at i, given where those before stood last."""
        if n == 0:
            return f"{self._holds(place.condition)}[i]"
        before, conditions = f"state.chain{n - 1}", []
        previous = f"{before}[{n - 1}]"
        conditions.append(f"{before} IS NOT NULL")
        if place.max_gap is not None:
            conditions.append(f"i - {previous} - 1 <= {place.max_gap}")
        conditions += self._near(place.within, previous, "i", both_ends=False)
        conditions += [f"state.never{k} <= {previous}" for k in nevers]
        if any(isinstance(node, StepValue | StepCount | StepMean) for node in walk(place.condition)):
            self.chain = (before, n)
            conditions.append(f"({self.truth(place.condition, 'i')})")
            self.chain = None
        else:
            conditions.append(f"{self._holds(place.condition)}[i]")
        return " AND ".join(conditions)

    def _near(self, limits: Limits, first: str, last: str, *, both_ends: bool) -> list[str]:
        """Conditions that all limits hold between two positions."""
        out = []
        for limit in self._usable(limits) or ():
            if isinstance(limit, Events):
                out.append(f"{last} - {first} + {int(both_ends)} <= {limit.n}")
            else:
                out.append(f"events[{last}].at - events[{first}].at <= {limit.us}")
        return out

    def _usable(self, limits: Limits) -> Limits | None:
        """The limits that count: without times, those in events. None: there are durations alone."""
        if self.timed or not limits:
            return limits
        return tuple(limit for limit in limits if isinstance(limit, Events)) or None

    def _threshold(self, body: ThresholdProgram) -> tuple[str, str, str]:
        when = self._holds(body.when)
        opens, closes = f"{when}[i]", f"NOT {when}[i]"
        if body.clears is not None:
            clears = self._holds(body.clears)
            opens, closes = f"{when}[i] AND NOT coalesce({clears}[i], false)", f"{clears}[i]"
        if body.stays:
            closes = "false"
        found = f"""reduce(state = {{open: null, out: []}}, i IN range(0, size(events) - 1) |
    CASE WHEN state.open IS NULL AND {opens} THEN {{open: i, out: state.out}}
      WHEN state.open IS NOT NULL AND {closes} THEN {{open: null, out: state.out + [[state.open, i]]}}
      ELSE state END)"""
        ids = """[match IN found.out + CASE WHEN found.open IS NULL THEN [] ELSE [[found.open, null]] END |
    [events[match[0]].id, CASE WHEN match[1] IS NOT NULL THEN events[match[1]].id END]]"""
        return when, found, ids

    # --- events -------------------------------------------------------------------------

    def _membership(self) -> list[str]:
        """The condition that an event carries something that the shape names; none where all do."""
        program = self.program
        if not program.signals and not program.evaluated:
            return []
        parts = []
        for name in program.signals:
            parts += [
                f"event.{self._column(name)} IS NOT NULL",
                f"event.{self._column(name, text=True)} IS NOT NULL",
            ]
        if program.evaluated:
            parts.append(f"event.{self._evaluated()}")
        return [f"({' OR '.join(parts)})"]

    def _key(self, name: str) -> str:
        """A field of a history's key, as `language.history.attribute` reads it."""
        if name == "kind":
            return _KIND
        if name in FIELDS:
            return _field(name)
        _checked(name)
        number, text = self._reading(name), self._reading(name, text=True)
        return f"coalesce(m.`tag_{name}`, m.`attribute_{name}`, {text}, {number})"

    def _reading(self, name: str, *, text: bool = False) -> str:
        """The reading of a signal on `m`, if the scorer that counts made it."""
        _checked(name)
        scorer = self.scorers.get(name, self.scorers.get("*", INPUT_SCORER))
        by = f"m.`scorer_{name}`"
        counts = f"{by} IS NULL" if scorer == INPUT_SCORER else f"{by} = {self._text(scorer)}"
        of = f"category_{name}" if text else number_property(name)
        return f"CASE WHEN {counts} THEN m.`{of}` END"

    def _column(self, name: str, *, text: bool = False) -> str:
        column = f"{name}_text" if text else f"{name}_number"
        self.columns.setdefault(column, self._reading(name, text=text))
        return column

    def _evaluated(self) -> str:
        if any(name in TRAITS or is_indicator_name(name) for name in self.scorers):
            raise Inexpressible("traits have several scorers")
        scorer = self.scorers.get("*", INPUT_SCORER)
        self.columns.setdefault("evaluated", f"coalesce({self._text(scorer)} IN m.evaluated_by, false)")
        return "evaluated"

    def _attribute(self, name: str) -> Value:
        """Fields are texts; others are looked up in attributes, then in readings."""
        if name == "kind":
            self.columns.setdefault("kind_field", _KIND)
            return Value(text="kind_field")
        if name in FIELDS:
            self.columns.setdefault(f"{name}_field", _field(name))
            return Value(text=f"{name}_field")
        _checked(name)
        tag, number = f"m.`tag_{name}`", f"m.`attribute_{name}`"
        own = f"{tag} IS NULL AND {number} IS NULL"
        number_column, text_column = f"{name}_attribute", f"{name}_tag"
        self.columns.setdefault(
            number_column, f"CASE WHEN {own} THEN {self._reading(name)} ELSE {number} END"
        )
        self.columns.setdefault(
            text_column, f"CASE WHEN {own} THEN {self._reading(name, text=True)} ELSE {tag} END"
        )
        return Value(number_column, text_column)

    def _text(self, text: str) -> str:
        if self.literals:
            return literal(text)
        name = next((name for name, value in self.values.items() if value == text), f"text{len(self.values)}")
        self.values[name] = text
        return f"${name}"

    # --- expressions --------------------------------------------------------------------

    def let(self, code: str, body: Callable[[str], str]) -> str:
        """Cypher that uses a value more than once."""
        if _SIMPLE.fullmatch(code):
            return body(code)
        self.fresh += 1
        name = f"x{self.fresh}"
        return f"head([{name} IN [{code}] | {body(name)}])"

    def number(self, expr: Expr, i: str) -> str:
        return self.value(expr, i).number or "null"

    def truth(self, expr: Expr, i: str) -> str:
        return self.value(expr, i).truth or "null"

    def value(self, expr: Expr, i: str) -> Value:
        """Cypher for an expression at the event at a position."""
        event = f"{self.listed}[{i}]"
        match expr:
            case Number(given):
                return Value(repr(float(given)))
            case Text(given):
                return Value(text=self._text(given))
            case Signal(name):
                number, text = self._column(name), self._column(name, text=True)
                return Value(f"{event}.{number}", f"{event}.{text}")
            case Indicator(name):
                column, evaluated = f"{_checked(name)}_score", self._evaluated()
                read, text = self._reading(name), self._reading(name, text=True)
                self.columns.setdefault(
                    column,
                    f"CASE WHEN {self.columns[evaluated]} AND {text} IS NULL THEN coalesce({read}, 0.0) END",
                )
                return Value(f"{event}.{column}")
            case Attribute(name):
                value = self._attribute(name)
                return Value(*(column and f"{event}.{column}" for column in value[:2]))
            case Elapsed(name):
                return Value(self._elapsed(name, i))
            case Negative(of):
                return Value(f"(-({self.number(of, i)}))")
            case Arithmetic(op, left, right):
                return Value(self._arithmetic(op, self.number(left, i), self.number(right, i)))
            case Compare(op, left, right):
                return Value(truth=self._compare(op, self.value(left, i), self.value(right, i)))
            case Member(of, options, negated):
                inside = [self._compare("==", self.value(of, i), self.value(item, i)) for item in options]
                either = f"({' OR '.join(inside)})" if inside else "false"
                return Value(truth=f"(NOT {either})" if negated else either)
            case Not(of):
                return Value(truth=f"(NOT {self.truth(of, i)})")
            case And(items):
                return Value(truth=f"({' AND '.join(self.truth(item, i) for item in items)})")
            case Or(items):
                return Value(truth=f"({' OR '.join(self.truth(item, i) for item in items)})")
            case AnyOf(items):
                above = [self._compare(">", self.value(item, i), Value("0.0")) for item in items]
                return Value(truth=f"({' OR '.join(above)})")
            case Known(of):
                parts = [f"{part} IS NOT NULL" for part in self.value(of, i) if part is not None]
                return Value(truth=f"({' OR '.join(parts)})")
            case OrElse(of, default):
                return self._or_else(self.value(of, i), self.value(default, i))
            case Function(name, args):
                return Value(self._function(name, [self.number(arg, i) for arg in args]))
            case StepValue() | StepCount() | StepMean():
                return self._step(expr)
            case Measure():
                return Value(f"{self._measure(expr)}[{i}]")
        raise Inexpressible(f"{type(expr).__name__.lower()} is not computed in Cypher")

    def _elapsed(self, name: str, i: str) -> str:
        if not self.timed:
            return "null"
        if name == "age":
            return f"(({self.listed}[{i}].at - {self.listed}[0].at) / 1000000.0)"
        gap = f"({self.listed}[{i}].at - {self.listed}[{i} - 1].at) / 1000000.0"
        return f"CASE WHEN {i} > 0 THEN {gap} END"

    def _arithmetic(self, op: str, left: str, right: str) -> str:
        def finite(code: str) -> str:
            return self.let(code, lambda r: f"CASE WHEN abs({r}) <= {LARGEST} THEN {r} END")

        if op != "/":
            return finite(f"({left} {op} {right})")
        return self.let(
            right, lambda by: f"CASE WHEN abs({by}) > {TOLERANCE} THEN {finite(f'({left} / {by})')} END"
        )

    def _compare(self, op: str, left: Value, right: Value) -> str:
        numbers = "null"
        if left.number is not None and right.number is not None:
            a, b = left.number, right.number
            numbers = self.let(a, lambda x: self.let(b, lambda y: _numbers("==" if op == "!=" else op, x, y)))
        if op not in ("==", "!="):
            return f"({numbers})"
        equal = numbers
        if left.text is not None or right.text is not None:
            cases = []
            if left.text is not None and right.text is not None:
                both = _known(left.text, right.text)
                cases.append(f"WHEN {both} THEN {left.text} = {right.text}")
            for one, other in ((left, right), (right, left)):
                if one.text is not None and other.number is not None:
                    cases.append(f"WHEN {_known(one.text, other.number)} THEN false")
            equal = f"CASE {' '.join(cases)} ELSE {numbers} END" if cases else numbers
        return f"({equal})" if op == "==" else f"(NOT ({equal}))"

    def _or_else(self, of: Value, default: Value) -> Value:
        if of.truth is not None:
            return Value(truth=f"coalesce({of.truth}, {default.truth or 'null'})")
        number = f"coalesce({of.number or 'null'}, {default.number or 'null'})"
        text = f"coalesce({of.text or 'null'}, {default.text or 'null'})"
        if of.text is not None:
            number = f"CASE WHEN {of.text} IS NULL THEN {number} END"
        if of.number is not None:
            text = f"CASE WHEN {of.number} IS NULL THEN {text} END"
        has_text = of.text is not None or default.text is not None
        return Value(number, text if has_text else None)

    def _function(self, name: str, args: Sequence[str]) -> str:
        if name == "abs":
            return f"abs({args[0]})"
        if name == "log":
            return self.let(args[0], lambda x: f"CASE WHEN {x} > {TOLERANCE} THEN log({x}) END")
        if name == "sqrt":
            positive = "CASE WHEN {x} > 0.0 THEN {x} ELSE 0.0 END"
            return self.let(
                args[0], lambda x: f"CASE WHEN {x} >= -{TOLERANCE} THEN sqrt({positive.format(x=x)}) END"
            )
        if name == "clip":
            return self._function("min", [self._function("max", args[:2]), args[2]])
        op = "<" if name == "min" else ">"
        best = f"reduce(best = xs[0], x IN xs | CASE WHEN x {op} best THEN x ELSE best END)"
        listed = ", ".join(args)
        return f"head([xs IN [[{listed}]] | CASE WHEN NOT any(x IN xs WHERE x IS NULL) THEN {best} END])"

    def _step(self, expr: Expr) -> Value:
        """What an earlier step read: at its last matched event, how many there are, or their mean."""
        if self.chain is None or not isinstance(expr, StepValue | StepCount | StepMean):
            raise Inexpressible("a step is named outside a step")
        body, (before, n) = self.program.body, self.chain
        assert isinstance(body, SequenceProgram)
        places = [number for number in range(n) if body.places[number].step == expr.step]
        if isinstance(expr, StepCount):
            return Value(repr(float(len(places))))
        self.chain = None
        if not places:
            value = Value("null")
        elif isinstance(expr, StepValue):
            value = self.value(expr.of, f"{before}[{places[-1]}]")
        else:
            read = _fixed(self.number(expr.of, "t"))
            at = ", ".join(f"{before}[{number}]" for number in places)
            value = Value(_let_list(f"[t IN [{at}] | {read}]", _AGGREGATES["mean"]))
        self.chain = (before, n)
        return value

    # --- measures -----------------------------------------------------------------------

    def _measure(self, measure: Measure) -> str:
        if measure not in self.measures:
            if measure.name not in MEASURES:
                raise Inexpressible(f"{measure.name}() is not computed in Cypher")
            self.measures[measure] = f"measure{len(self.measures)}"
            self._measure_list(measure)  # so that its columns are known
        return self.measures[measure]

    def _measure_list(self, measure: Measure) -> str:
        """A list with the value of a measure at each event."""
        if not measure.window.over_subject:
            return _each(self._measured(measure, "i"))
        self.listed = "own"
        code = self._measured(measure, "o")
        self.listed = "events"
        return _each(f"head([o IN [places[i]] | {code}])")

    def _measured(self, measure: Measure, i: str) -> str:
        """The value of a measure at a position."""
        window, listed = measure.window, self.listed
        limits = self._usable(window.last)
        if limits is None or (isinstance(window.skip, Duration) and not self.timed):
            return "null"
        skipped = window.skip.n if isinstance(window.skip, Events) else 0
        reach = [
            limit.n + skipped - 1 for limit in limits if isinstance(limit, Events) and window.keep is None
        ]
        reach += [self.cap - 1] if window.keep is None else []
        back = min(reach, default=None)
        low = "0" if back is None else f"CASE WHEN {i} > {back} THEN {i} - {back} ELSE 0 END"
        conditions = []
        now = f"{listed}[{i}].at"
        if isinstance(window.skip, Duration):
            now = f"({listed}[{i}].at - {window.skip.us})"
            conditions.append(f"{listed}[j].at <= {now}")
        if window.keep is None:
            durations = [limit for limit in limits if isinstance(limit, Duration)]
            conditions += [f"{listed}[j].at > {now} - {limit.us}" for limit in durations]
        left = _filtered(f"range({low}, {i} - {skipped})" if skipped else f"range({low}, {i})", conditions)
        if window.since is not None:
            newest = f"last([j IN left WHERE {self.truth(window.since, 'j')}])"
            since = (
                f"head([q IN [{newest}] | CASE WHEN q IS NULL THEN left ELSE [j IN left WHERE j > q] END])"
            )
            left = f"head([left IN [{left}] | {since}])"
        where = [] if window.where is None else [self.truth(window.where, "j")]
        read = f" WHERE {' AND '.join(where)}" if where else ""
        values = f"[x IN [j IN {left}{read} | {self._read(measure)}] WHERE x IS NOT NULL]"
        if window.keep is not None:
            n = window.keep
            values = (
                f"head([ys IN [{values}] | CASE WHEN size(ys) > {n} THEN ys[size(ys) - {n}..] ELSE ys END])"
            )
        formula = _AGGREGATES["count_true" if measure.condition and measure.name == "count" else measure.name]
        if measure.name == "usual":
            mean, weight = options_of(measure)["prior"]
            formula = formula.format(sum=repr(mean * weight), n=repr(float(weight)))
        if window.at_least:
            formula = f"CASE WHEN size(xs) >= {window.at_least} THEN {formula} END"
        return _let_list(values, formula)

    def _read(self, measure: Measure) -> str:
        """What a measure reads at the event j."""
        if measure.condition:
            return self.truth(measure.of, "j")
        value = self.value(measure.of, "j")
        if measure.name in ("count", "distinct"):
            if value.truth is not None:
                raise Inexpressible(f"{measure.name}() of a condition is not computed in Cypher")
            if value.number is None:
                return value.text or "null"
            if value.text is not None:
                return f"CASE WHEN {value.text} IS NOT NULL THEN {value.text} ELSE {_fixed(value.number)} END"
        return _fixed(value.number or "null")


def _field(name: str) -> str:
    """A field of `m`; the thread stands in for a target."""
    return "coalesce(m.target, m.thread)" if name == "target" else f"m.{name}"


_KIND = f"CASE WHEN m.bare THEN m.kind + '{NOT_KEPT}' ELSE m.kind END"
_AGGREGATES = {
    "count": "toFloat(size(xs))",
    "count_true": "toFloat(size([x IN xs WHERE x]))",
    "share": "CASE WHEN size(xs) > 0 THEN toFloat(size([x IN xs WHERE x])) / size(xs) END",
    "sum": "reduce(sum = 0, x IN xs | sum + x) / 1000000.0",
    "mean": "CASE WHEN size(xs) > 0 THEN reduce(sum = 0, x IN xs | sum + x) / 1000000.0 / size(xs) END",
    "min": "reduce(best = xs[0], x IN xs | CASE WHEN x < best THEN x ELSE best END) / 1000000.0",
    "max": "reduce(best = xs[0], x IN xs | CASE WHEN x > best THEN x ELSE best END) / 1000000.0",
    "usual": "CASE WHEN {n} + size(xs) > 0 THEN"
    " ({sum} + reduce(sum = 0, x IN xs | sum + x) / 1000000.0) / ({n} + size(xs)) END",
    "distinct": "toFloat(size(reduce(seen = [], x IN xs |"
    " CASE WHEN x IN seen THEN seen ELSE seen + [x] END)))",
}
"""Each over the values `xs` of a window: integers of millionths, texts or truths."""


def _let_list(values: str, formula: str) -> str:
    return f"head([xs IN [{values}] | {formula}])"


def _each(code: str) -> str:
    return f"[i IN range(0, size(events) - 1) | {code}]"


def _filtered(listed: str, conditions: Sequence[str]) -> str:
    return f"[j IN {listed} WHERE {' AND '.join(conditions)}]" if conditions else listed


def _fixed(number: str) -> str:
    """A number in millionths. One that is too large for an integer is an error, and the events are read."""
    exact = "CASE WHEN abs(y) < 9e18 THEN toInteger(round(y, 0, 'HALF_EVEN')) ELSE toInteger(y / y) / 0 END"
    return f"head([y IN [{number} * 1000000.0] | CASE WHEN y IS NOT NULL THEN {exact} END])"


def _numbers(op: str, a: str, b: str) -> str:
    """A comparison of numbers with the tolerance of the language."""

    def above(x: str, y: str) -> str:
        constants = [abs(float(item)) for item in (x, y) if _CONSTANT.fullmatch(item)]
        others = [f"abs({item})" for item in (x, y) if not _CONSTANT.fullmatch(item)]
        least = max([1.0, *constants])
        scale = f"reduce(most = {least!r}, size IN [{', '.join(others)}] | {_LARGER})"
        if len(others) == 1:
            scale = f"CASE WHEN {others[0]} > {least!r} THEN {others[0]} ELSE {least!r} END"
        return f"{x} > {y} + {TOLERANCE} * {scale}"

    match op:
        case ">":
            return above(a, b)
        case "<=":
            return f"NOT {above(a, b)}"
        case "<":
            return above(b, a)
        case ">=":
            return f"NOT {above(b, a)}"
    return f"NOT {above(a, b)} AND NOT {above(b, a)}"


def _known(*codes: str) -> str:
    """The condition that none of these is null; texts and numbers of a pattern never are."""
    may = [code for code in codes if code[0] not in "$'" and not _CONSTANT.fullmatch(code)]
    return " AND ".join(f"{code} IS NOT NULL" for code in may) or "true"


def _checked(name: str) -> str:
    """A name that can stand in a query; names in expressions are such."""
    if not _NAME.fullmatch(name):
        raise Inexpressible(f"the name {name!r:.60} is not written in Cypher")
    return name


def _shape(program: Program) -> str:
    return type(program.body).__name__.removesuffix("Program").lower()
