"""Expressions: a whitelist of Python's grammar parsed into typed nodes. Nothing is evaluated as Python.

Every fault of a text is collected with its offset.
"""

from __future__ import annotations

import ast as python
import math
import re
import warnings
from collections.abc import Iterator, Mapping

from ..errors import did_you_mean
from ..models.slotted import dataclass, field, replace
from ..models.timestamps import SECOND, parse_duration, parse_event_count
from . import ast
from .aggregates import MEASURES, WINDOW_OPTIONS, MeasureKind, Option
from .three_valued import equal
from .visitor import is_larger
from .vocabulary import Vocabulary

ELAPSED = ("gap", "age")
SIGNAL_KINDS = {"number": "number", "category": "text", "any": "any"}

Typed = tuple[ast.Expr, str]
"""An expression and its kind: number, text, truth, list, or any where only the data can tell."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Names in reach.

    `steps` are those before this place; `gathers` allows `step.count` and `mean(step.x)`;
    `measures` and `lists` say whether measures, and `values(...)`, may be used here.
    """

    vocabulary: Vocabulary
    parameters: Mapping[str, float] = field(default_factory=dict)
    defines: Mapping[str, Typed] = field(default_factory=dict)
    bindings: Mapping[str, str] = field(default_factory=dict)
    results: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, Typed] = field(default_factory=dict)
    steps: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    gathers: bool = False
    measures: bool = True
    lists: bool = False
    here: str = "here"

    def at(self, here: str, **changes: object) -> Scope:
        """The same names in another place, which error messages name."""
        return replace(self, here=here, **changes)  # type: ignore[arg-type]

    def inside_measure(self, here: str) -> Scope:
        """The names inside a measure, since or where: those of one event."""
        return replace(
            self, here=here, measures=False, lists=False, steps=(), gathers=False, results={}, details={}
        )

    def names(self) -> Iterator[str]:
        """All names in reach, for suggestions."""
        for names in (self.bindings, self.parameters, self.defines, self.results, self.details):
            yield from names
        yield from ELAPSED
        yield from self.vocabulary.signals
        yield from self.vocabulary.indicators
        yield from self.vocabulary.attributes

    def resolve(self, name: str) -> Typed | str:
        """The expression of a name, or the message where there is none."""
        name = self.bindings.get(name, name)
        if name in self.parameters:
            return ast.Number(float(self.parameters[name])), "number"
        for known in (self.defines, self.details):
            if name in known:
                return known[name]
        if name in ELAPSED:
            return ast.Elapsed(name), "number"
        if name in self.results:
            return ast.Result(name), self.results[name]
        if name in self.vocabulary.indicators:
            return ast.Indicator(name), "number"
        if name in self.vocabulary.signals:
            return ast.Signal(name), SIGNAL_KINDS[self.vocabulary.signals[name]]
        if name in self.vocabulary.attributes:
            return ast.Attribute(name), SIGNAL_KINDS[self.vocabulary.attributes[name]]
        if name in self.steps or name in self.parts:
            return f"{name!r} is a step, not a value; name one of its readings: {name}.compassion"
        return f"unknown signal {name!r}{self.hint(name)}"

    def hint(self, name: str) -> str:
        """A suggestion for an unknown name."""
        near = did_you_mean(name, self.names())
        return near or "; give it in an example, or declare it under signals: in ethogram.yaml"


MAX_EVENTS = 512
_SECONDS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}
_ARITY = {"abs": 1, "log": 1, "sqrt": 1, "clip": 3}
_COVER = MeasureKind("set", "weights of the different indicators seen", options={"weights": Option()})
NAMES = (*MEASURES, "cover", "known", "or_else", "any", *_SECONDS, *_ARITY)


def read_call(reader: Reader, node: python.Call) -> Typed:
    """The expression of a call."""
    if not isinstance(node.func, python.Name):
        return reader.fault(node, "only functions of the language can be called")
    name = node.func.id
    if any(isinstance(arg, python.Starred) for arg in node.args) or any(k.arg is None for k in node.keywords):
        return reader.fault(node, "a star is not part of the language")
    if name in ("min", "max") and len(node.args) > 1:
        return _function(reader, node, name, None)
    first = node.args[0] if len(node.args) == 1 else None
    if name == "mean" and isinstance(first, python.Attribute) and isinstance(first.value, python.Name):
        return _step_mean(reader, node)
    if name in MEASURES:
        return _measure(reader, node, name, MEASURES[name])
    if name in _ARITY:
        return _function(reader, node, name, _ARITY[name])
    special = {"known": _known, "or_else": _or_else, "any": _any, "cover": _cover}.get(name)
    if special is not None:
        return special(reader, node)
    if name in _SECONDS:
        value = _only(reader, node, "number")
        if not isinstance(value, ast.Number):
            return reader.fault(node, f"{name}(...) takes a plain number")
        return ast.Number(value.value * _SECONDS[name]), "number"
    return reader.fault(node, f"unknown function {name!r}{did_you_mean(name, NAMES)}")


def _no_keywords(reader: Reader, node: python.Call, name: str) -> None:
    for keyword in node.keywords:
        reader.fault(keyword.value, f"{name}(...) takes no {keyword.arg}=")


def _only(reader: Reader, node: python.Call, want: str) -> ast.Expr:
    name = node.func.id if isinstance(node.func, python.Name) else "it"
    _no_keywords(reader, node, name)
    if len(node.args) != 1:
        return reader.fault(node, f"{name}(...) takes one value")[0]
    return reader.need(node.args[0], reader.visit(node.args[0]), want)


def _function(reader: Reader, node: python.Call, name: str, arity: int | None) -> Typed:
    _no_keywords(reader, node, name if arity else f"{name} of several values")
    if arity is not None and len(node.args) != arity:
        return reader.fault(node, f"{name}(...) takes {arity} value{'s' if arity > 1 else ''}")
    args = tuple(reader.need(arg, reader.visit(arg), "number") for arg in node.args)
    numbers = [arg.value for arg in args if isinstance(arg, ast.Number)]
    if arity is None and len(numbers) == len(args):
        return ast.Number(min(numbers) if name == "min" else max(numbers)), "number"
    return ast.Function(name, args), "number"


def _known(reader: Reader, node: python.Call) -> Typed:
    _no_keywords(reader, node, "known")
    if len(node.args) != 1:
        return reader.fault(node, "known(...) takes one value")
    return ast.Known(reader.visit(node.args[0])[0]), "truth"


def _or_else(reader: Reader, node: python.Call) -> Typed:
    _no_keywords(reader, node, "or_else")
    if len(node.args) != 2:
        return reader.fault(node, "or_else(x, v) takes a value and what to use where it is absent")
    first, second = reader.visit(node.args[0]), reader.visit(node.args[1])
    kind = second[1] if first[1] == "any" else first[1]
    if second[1] not in ("any", kind):
        reader.need(node.args[1], second, kind)
    if first[1] == "any" and kind in ("number", "text"):
        reader.need(node.args[0], first, kind)
    return ast.OrElse(first[0], second[0]), kind


def _indicators(reader: Reader, nodes: list[python.expr], what: str) -> tuple[ast.Indicator, ...]:
    indicators: list[ast.Indicator] = []
    for node in nodes:
        expr = reader.visit(node)[0]
        if isinstance(expr, ast.Indicator):
            indicators.append(expr)
        elif isinstance(node, python.Name) and not reader.faults:
            reader.fault(node, f"{what} takes indicators such as MAN_LOVEBOMB, not {node.id!r}")
    return tuple(dict.fromkeys(indicators))


def _any(reader: Reader, node: python.Call) -> Typed:
    _no_keywords(reader, node, "any")
    if not node.args:
        return reader.fault(node, "any(...) takes one or more indicators")
    return ast.AnyOf(_indicators(reader, node.args, "any(...)")), "truth"


def _step_mean(reader: Reader, node: python.Call) -> Typed:
    _no_keywords(reader, node, "mean(step.x)")
    inner = reader.visit(node.args[0])
    if not reader.scope.gathers:
        return reader.fault(node, "mean(step.x) is for confidence, severities, details and explanation")
    reader.need(node.args[0], inner, "number")
    if not isinstance(inner[0], ast.StepValue):
        return inner
    return ast.StepMean(inner[0].step, inner[0].of), "number"


def _measure(reader: Reader, node: python.Call, name: str, kind: MeasureKind) -> Typed:
    if not reader.scope.measures:
        return reader.fault(node, f"{name}(...) cannot stand {reader.scope.here}: no measure inside another")
    if kind.gives == "list" and not reader.scope.lists:
        return reader.fault(node, "values(...) is for details only")
    if len(node.args) != 1:
        return reader.fault(node, f"{name}(...) takes one value or condition, then options by name")
    outer = reader.scope
    reader.scope = outer.inside_measure(f"inside {name}(...)")
    of, of_kind = reader.visit(node.args[0])
    reader.scope = outer
    condition = of_kind == "truth"
    if kind.of == "number":
        reader.need(node.args[0], (of, of_kind), "number")
    elif kind.of == "condition" and not condition:
        reader.fault(node.args[0], f"{name}(...) takes a condition; compare it: ... > 0")
    elif kind.of == "value" and condition:
        reader.fault(node.args[0], f"{name}(...) takes a value, not a condition")
    options = _own_options(reader, node, name, kind)
    window = read_window(reader, node, name, kind)
    gives = of_kind if kind.gives == "same" else kind.gives
    return ast.Measure(name, of, window, condition, options), gives


def _cover(reader: Reader, node: python.Call) -> Typed:
    if not reader.scope.measures:
        return reader.fault(node, f"cover(...) cannot stand {reader.scope.here}: no measure inside another")
    if len(node.args) != 1 or not isinstance(node.args[0], (python.Tuple, python.List)):
        return reader.fault(node, "cover((A, B), ...) takes a list of indicators, then options by name")
    items = _indicators(reader, node.args[0].elts, "cover(...)")
    weights = tuple(1.0 for _ in items)
    for keyword in node.keywords:
        if keyword.arg == "weights":
            weights = _weights(reader, keyword.value, items)
    window = read_window(reader, node, "cover", _COVER)
    return ast.Cover(items, weights, window), "number"


def _weights(reader: Reader, node: python.expr, items: tuple[ast.Indicator, ...]) -> tuple[float, ...]:
    unweighted = tuple(1.0 for _ in items)
    tables = reader.scope.vocabulary.tables
    if not isinstance(node, python.Name):
        reader.fault(node, "weights= takes the name of a table")
        return unweighted
    if node.id not in tables:
        reader.fault(node, f"unknown table {node.id!r}{did_you_mean(node.id, tables)}")
        return unweighted
    table = tables[node.id]
    missing = [item.name for item in items if item.name not in table]
    if missing:
        reader.fault(node, f"table {node.id!r} has no weight for {', '.join(missing)}")
        return unweighted
    reader.tables[node.id] = table
    return tuple(float(table[item.name]) for item in items)


def _own_options(
    reader: Reader, node: python.Call, name: str, kind: MeasureKind
) -> tuple[tuple[str, tuple[float, ...]], ...]:
    values = {keyword.arg: keyword.value for keyword in node.keywords}
    out: list[tuple[str, tuple[float, ...]]] = []
    for option, spec in kind.options.items():
        value = values.get(option)
        if value is None:
            if spec.default is None:
                reader.fault(node, f"{name}(...) needs {option}=")
            out.append((option, spec.default or (0.0,)))
            continue
        if spec.duration:
            out.append((option, (float(_duration(reader, value, option)),)))
            continue
        nodes = list(value.elts) if isinstance(value, (python.Tuple, python.List)) else [value]
        numbers = tuple(number(reader, node, f"{option}=") for node in nodes)
        if len(numbers) != spec.values:
            reader.fault(value, f"{option}= takes {spec.values} number{'s' if spec.values > 1 else ''}")
        if any(n < 0 for n in numbers[1:]) or (option == "by" and numbers[0] <= 0):
            reader.fault(value, f"{option}= cannot be negative or nothing here")
        out.append((option, numbers))
    return tuple(sorted(out))


def number(reader: Reader, node: python.expr, what: str) -> float:
    """A number known without data: digits, a parameter, arithmetic on them."""
    expr = reader.need(node, reader.visit(node), "number")
    if isinstance(expr, ast.Number):
        return expr.value
    if not reader.faults:
        reader.fault(node, f"{what} takes a number or a parameter")
    return 0.0


def _duration(reader: Reader, node: python.expr, what: str) -> int:
    expr = reader.visit(node)[0]
    try:
        if isinstance(expr, ast.Text) and (us := parse_duration(expr.value)) > 0:
            return us
        if isinstance(expr, ast.Number) and expr.value > 0:
            return round(expr.value * SECOND)
    except ValueError as fault:
        reader.fault(node, str(fault))
        return SECOND
    reader.fault(node, f"{what}= takes a duration such as '1d'")
    return SECOND


def read_window(reader: Reader, node: python.Call, name: str, kind: MeasureKind) -> ast.Window:
    """The window by keywords, with the defaults of the measure."""
    known = (*kind.options, *(WINDOW_OPTIONS if kind.windowed else ()))
    record: dict[str, python.expr] = {}
    for keyword in node.keywords:
        assert keyword.arg is not None
        if keyword.arg not in known:
            near = did_you_mean(keyword.arg, known)
            reader.fault(keyword.value, f"{name}(...) has no option {keyword.arg}={near}")
        elif keyword.arg in record:
            reader.fault(keyword.value, f"{keyword.arg}= stands twice")
        elif keyword.arg not in kind.options:
            record[keyword.arg] = keyword.value
    if not kind.windowed:
        return ast.Window()
    keep = _count(reader, record["keep"], "keep", 1) if "keep" in record else None
    skip = _limit(reader, record["skip"], "skip", 0) if "skip" in record else kind.skip
    if "last" in record:
        last = _last(reader, record["last"])
    else:
        last = (kind.last,) if kind.last is not None and keep is None else ()
    at_least = _count(reader, record["at_least"], "at_least", 0) if "at_least" in record else 0
    if keep is not None:
        _check_keep(reader, record, skip, at_least, keep)
    sizes = [limit.n for limit in last if isinstance(limit, ast.Events)]
    if sizes and at_least > min(sizes):
        reader.fault(record["at_least"], f"at_least={at_least} can never be met by last={min(sizes)}")
    return ast.Window(
        skip=skip,
        last=last,
        keep=keep,
        since=_condition(reader, record.get("since"), "since"),
        where=_condition(reader, record.get("where"), "where"),
        at_least=at_least,
        over_subject=_over(reader, record.get("over")),
    )


def _check_keep(
    reader: Reader, record: dict[str, python.expr], skip: ast.Limit | None, at_least: int, keep: int
) -> None:
    for other in ("last", "since"):
        if other in record:
            reader.fault(record[other], f"keep= stands instead of last= and takes no {other}=")
    if isinstance(skip, ast.Duration):
        reader.fault(record["skip"], "with keep=, skip= takes a number of events")
    if at_least > keep:
        reader.fault(record["at_least"], f"at_least={at_least} can never be met by keep={keep}")


def _over(reader: Reader, node: python.expr | None) -> bool:
    if node is None:
        return False
    if isinstance(node, python.Name) and node.id == "subject":
        return True
    reader.fault(node, "over= takes subject: the same window over all the subject's events")
    return False


def _condition(reader: Reader, node: python.expr | None, name: str) -> ast.Expr | None:
    if node is None:
        return None
    outer = reader.scope
    reader.scope = outer.inside_measure(f"inside {name}=")
    expr = reader.need(node, reader.visit(node), "truth")
    reader.scope = outer
    return expr


def _count(reader: Reader, node: python.expr, what: str, lowest: int) -> int:
    value = number(reader, node, f"{what}=")
    if value != int(value) or not lowest <= value <= MAX_EVENTS:
        reader.fault(node, f"{what}= takes a whole number from {lowest} to {MAX_EVENTS}")
        return max(lowest, 1)
    return int(value)


def _limit(reader: Reader, node: python.expr, what: str, lowest: int) -> ast.Limit:
    if isinstance(node, python.Constant) and isinstance(node.value, str):
        count = parse_event_count(node.value)
        if count is None:
            return ast.Duration(_duration(reader, node, what))
        if not lowest <= count <= MAX_EVENTS:
            reader.fault(node, f"{what}= takes {lowest} to {MAX_EVENTS} events")
        return ast.Events(min(max(count, lowest), MAX_EVENTS))
    return ast.Events(_count(reader, node, what, lowest))


def _last(reader: Reader, node: python.expr) -> ast.Limits:
    nodes = list(node.elts) if isinstance(node, (python.Tuple, python.List)) else [node]
    if not nodes:
        reader.fault(node, "last= takes a number of events, a duration such as '7d', or a list of both")
    return tuple(_limit(reader, node, "last", 1) for node in nodes)


MAX_CHARACTERS = 4096
MAX_DEPTH = 60
MAX_NODES = 2000
BROKEN: Typed = (ast.Number(0.0), "any")
"""Stands for what could not be read, so that reading goes on."""

_SINGLE_EQUALS = re.compile(r"(?<![=<>!])=(?!=)")
_ARITHMETIC = {python.Add: "+", python.Sub: "-", python.Mult: "*", python.Div: "/"}
_ORDER = {python.Lt: "<", python.LtE: "<=", python.Gt: ">", python.GtE: ">="}
_EQUAL = {python.Eq: "==", python.NotEq: "!="}
_REFUSED = {
    python.Lambda: "a lambda",
    python.ListComp: "a comprehension",
    python.SetComp: "a comprehension",
    python.DictComp: "a comprehension",
    python.GeneratorExp: "a comprehension",
    python.Subscript: "an index",
    python.IfExp: "if ... else",
    python.Dict: "a mapping",
    python.Set: "a set",
    python.JoinedStr: "an f-string",
    python.NamedExpr: "an assignment",
    python.Starred: "a star",
    python.Await: "await",
    python.Yield: "yield",
}


class Reader:
    """Reads one expression. `faults` are (offset, message); `kinds` those of untyped signals by their use."""

    def __init__(self, text: str, scope: Scope) -> None:
        self.text = text
        self.scope = scope
        self.faults: list[tuple[int, str]] = []
        self.kinds: dict[str, str] = {}
        self.tables: dict[str, Mapping[str, float]] = {}
        self._depth = 0

    def read(self, want: str = "any") -> Typed:
        """The tree and its kind, valid where there are no `faults`. `want`: number, truth or any."""
        tree = self._parse()
        if tree is None:
            return BROKEN
        typed = self.visit(tree.body)
        if want != "any" and not self.faults:
            typed = (self.need(tree.body, typed, want), want)
        if is_larger(typed[0], MAX_NODES):
            self.faults.append((0, f"is larger than {MAX_NODES} parts once its defines are put in place"))
            return BROKEN
        return typed

    def _parse(self) -> python.Expression | None:
        if len(self.text) > MAX_CHARACTERS:
            self.faults.append((0, f"is longer than {MAX_CHARACTERS} characters; use define"))
            return None
        flat = self.text.replace("\n", " ").replace("\t", " ").replace("\f", " ").replace("\r", " ")
        lead = len(flat) - len(flat.lstrip())
        if not flat.strip():
            self.faults.append((0, "is empty; write a condition such as compassion > 0.5"))
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return python.parse(flat.strip(), mode="eval")
        except SyntaxError as fault:
            offset = max(0, (fault.offset or 1) - 1) + lead
            reason = (fault.msg or "invalid syntax").split("(")[0].strip()
            if _SINGLE_EQUALS.search(self.text):
                reason += " (write == to compare)"
            if "leading zeros" in reason:
                reason = "a number with a leading zero"
            self.faults.append((min(offset, len(self.text)), f"cannot be read: {reason}"))
        except (ValueError, RecursionError, MemoryError, OverflowError):
            self.faults.append((0, "is nested too deeply or holds a character that is not allowed"))
        return None

    def offset(self, node: python.AST) -> int:
        """Character offset of a node in the text."""
        column = getattr(node, "col_offset", 0)
        lead = len(self.text) - len(self.text.lstrip())
        if self.text.isascii():
            return int(column) + lead
        return len(self.text.strip().encode()[:column].decode(errors="ignore")) + lead

    def fault(self, node: python.AST, message: str) -> Typed:
        self.faults.append((self.offset(node), message))
        return BROKEN

    def need(self, node: python.AST, typed: Typed, want: str) -> ast.Expr:
        """The expression, after making sure it is a number, text or truth."""
        expr, kind = typed
        if kind == want or typed is BROKEN:
            return expr
        if kind == "any":
            self._learn(node, expr, want)
            return expr
        hints = {
            ("truth", "number"): "expected a number; share(...) or count(...) make one of a condition",
            ("number", "truth"): "expected a condition; compare it: ... > 0",
            ("text", "truth"): "expected a condition; compare it: ... == 'word'",
            ("text", "number"): "expected a number, not a category",
            ("number", "text"): "expected a category, not a number",
            ("list", "number"): "expected a number; values(...) is a list, for details only",
        }
        return self.fault(node, hints.get((kind, want), f"expected a {want}, not a {kind}"))[0]

    def _learn(self, node: python.AST, expr: ast.Expr, want: str) -> None:
        if want == "truth":
            self.fault(node, "expected a condition; compare it: ... > 0")
        elif isinstance(expr, ast.Signal):
            kind = "category" if want == "text" else "number"
            if self.kinds.setdefault(expr.name, kind) != kind:
                self.fault(node, f"{expr.name!r} is used as a number and as a category")

    def visit(self, node: python.AST) -> Typed:
        self._depth += 1
        try:
            if self._depth > MAX_DEPTH:
                if not any("nested deeper" in message for _, message in self.faults):
                    self.fault(node, f"is nested deeper than {MAX_DEPTH} levels")
                return BROKEN
            return self._visit(node)
        finally:
            self._depth -= 1

    def _visit(self, node: python.AST) -> Typed:
        match node:
            case python.Constant():
                return self._constant(node)
            case python.Name():
                typed = self.scope.resolve(node.id)
                return self.fault(node, typed) if isinstance(typed, str) else typed
            case python.Attribute():
                return self._attribute(node)
            case python.UnaryOp():
                return self._unary(node)
            case python.BinOp():
                return self._arithmetic(node)
            case python.BoolOp():
                items = tuple(self.need(value, self.visit(value), "truth") for value in node.values)
                return (ast.And(items) if isinstance(node.op, python.And) else ast.Or(items)), "truth"
            case python.Compare():
                return self._comparison(node)
            case python.Call():
                return read_call(self, node)
            case python.Tuple() | python.List():
                return self.fault(node, "a list stands only behind `in`, in prior=, last= or cover(...)")
        name = _REFUSED.get(type(node), f"{type(node).__name__.lower()}")
        return self.fault(node, f"{name} is not part of the language")

    def _constant(self, node: python.Constant) -> Typed:
        value = node.value
        if isinstance(value, bool):
            return self.fault(node, f"{value} is not a value; readings are numbers: compare with 1 or 0")
        if isinstance(value, str):
            return ast.Text(value), "text"
        if isinstance(value, (int, float)):
            try:
                number = float(value)
            except OverflowError:
                number = math.inf
            if not math.isfinite(number):
                return self.fault(node, "the number is too large")
            return ast.Number(number), "number"
        return self.fault(node, f"{value!r} is not a value; write a number or 'word'")

    def _attribute(self, node: python.Attribute) -> Typed:
        if not isinstance(node.value, python.Name):
            return self.fault(node, "only step.signal may be written with a dot")
        owner, item = node.value.id, node.attr
        if owner in self.scope.parts:
            if item != "confidence":
                return self.fault(node, f"of a part only its confidence is known: {owner}.confidence")
            return ast.Result(f"{owner}.confidence"), "number"
        if owner not in self.scope.steps:
            near = did_you_mean(owner, (*self.scope.steps, *self.scope.parts))
            known = ", ".join(self.scope.steps or self.scope.parts)
            tail = near or (f"; steps that can be named: {known}" if known else "; no step can be named")
            return self.fault(node, f"{owner!r} is not a step that can be named {self.scope.here}{tail}")
        if item == "count":
            if not self.scope.gathers:
                return self.fault(node, f"{owner}.count is for confidence, severities, details, explanation")
            return ast.StepCount(owner), "number"
        typed = self.scope.at(self.scope.here, steps=(), details={}).resolve(item)
        if isinstance(typed, str):
            return self.fault(node, typed)
        return ast.StepValue(owner, typed[0]), typed[1]

    def _unary(self, node: python.UnaryOp) -> Typed:
        if isinstance(node.op, python.Not):
            return ast.Not(self.need(node.operand, self.visit(node.operand), "truth")), "truth"
        if not isinstance(node.op, (python.USub, python.UAdd)):
            return self.fault(node, "of Python's signs only - and not are part of the language")
        value = self.need(node.operand, self.visit(node.operand), "number")
        if isinstance(node.op, python.UAdd):
            return value, "number"
        return (ast.Number(-value.value) if isinstance(value, ast.Number) else ast.Negative(value)), "number"

    def _arithmetic(self, node: python.BinOp) -> Typed:
        op = _ARITHMETIC.get(type(node.op))
        if op is None:
            return self.fault(node, "of arithmetic only + - * / are part of the language")
        left = self.need(node.left, self.visit(node.left), "number")
        right = self.need(node.right, self.visit(node.right), "number")
        return fold(ast.Arithmetic(op, left, right)), "number"

    def _comparison(self, node: python.Compare) -> Typed:
        operands = [node.left, *node.comparators]
        pairs = [self._pair(op, operands[i], operands[i + 1]) for i, op in enumerate(node.ops)]
        return (pairs[0] if len(pairs) == 1 else ast.And(tuple(pairs))), "truth"

    def _pair(self, op: python.cmpop, left: python.expr, right: python.expr) -> ast.Expr:
        if isinstance(op, (python.In, python.NotIn)):
            return self._member(left, right, isinstance(op, python.NotIn))
        if type(op) in _ORDER:
            a = self.need(left, self.visit(left), "number")
            return ast.Compare(_ORDER[type(op)], a, self.need(right, self.visit(right), "number"))
        if type(op) not in _EQUAL:
            return self.fault(left, "`is` is not part of the language; write ==")[0]
        a, b = self._alike((left, self.visit(left)), (right, self.visit(right)))
        return ast.Compare(_EQUAL[type(op)], a, b)

    def _member(self, left: python.expr, right: python.expr, negated: bool) -> ast.Expr:
        first = self.visit(left)
        if not isinstance(right, (python.Tuple, python.List)):
            return self.fault(right, "behind `in` stands a list: kind in ('message', 'action')")[0]
        options = tuple(self._alike((left, first), (item, self.visit(item)))[1] for item in right.elts)
        return ast.Member(first[0], options, negated)

    def _alike(
        self, exprs: tuple[python.expr, Typed], other: tuple[python.expr, Typed]
    ) -> tuple[ast.Expr, ast.Expr]:
        """Both sides, after making sure that a number is not compared with a category."""
        (left, (a, a_kind)), (right, (b, b_kind)) = exprs, other
        for node, typed in ((left, exprs[1]), (right, other[1])):
            if typed[1] in ("truth", "list"):
                self.fault(node, "only numbers and categories can be compared")
                return a, b
        if a_kind == "any" and b_kind != "any":
            self.need(left, exprs[1], b_kind)
        elif a_kind != b_kind:
            self.need(right, other[1], a_kind)
        return a, b


def fold(expr: ast.Arithmetic) -> ast.Expr:
    """The expression, or its number where both sides are numbers already."""
    if not (isinstance(expr.left, ast.Number) and isinstance(expr.right, ast.Number)):
        return expr
    a, b = expr.left.value, expr.right.value
    if expr.op == "/" and equal(b, 0.0):
        return expr
    results: Mapping[str, float] = {"+": a + b, "-": a - b, "*": a * b, "/": a / b if b else 0.0}
    return ast.Number(results[expr.op]) if math.isfinite(results[expr.op]) else expr
