"""Calls inside expressions: plain functions, measures and their windows."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..errors import did_you_mean
from ..records.times import SECOND, parse_duration, parse_event_count
from .measures import MEASURES, WINDOW_OPTIONS, MeasureKind, Option
from .tree import (
    AnyOf,
    Cover,
    Duration,
    Events,
    Expr,
    Function,
    Indicator,
    Known,
    Limit,
    Limits,
    Measure,
    Number,
    OrElse,
    StepMean,
    StepValue,
    Text,
    Window,
)

if TYPE_CHECKING:
    from .expression import Reader
    from .scope import Typed

MAX_EVENTS = 512
_SECONDS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}
_ARITY = {"abs": 1, "log": 1, "sqrt": 1, "clip": 3}
_COVER = MeasureKind("set", "weights of the different indicators seen", options={"weights": Option()})
NAMES = (*MEASURES, "cover", "known", "or_else", "any", *_SECONDS, *_ARITY)


def read_call(reader: Reader, node: ast.Call) -> Typed:
    """What `name(...)` stands for."""
    if not isinstance(node.func, ast.Name):
        return reader.fault(node, "only functions of the language can be called")
    name = node.func.id
    if any(isinstance(arg, ast.Starred) for arg in node.args) or any(k.arg is None for k in node.keywords):
        return reader.fault(node, "a star is not part of the language")
    if name in ("min", "max") and len(node.args) > 1:
        return _function(reader, node, name, None)
    if name == "mean" and len(node.args) == 1 and _is_step_value(reader, node.args[0]):
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
        if not isinstance(value, Number):
            return reader.fault(node, f"{name}(...) takes a plain number")
        return Number(value.value * _SECONDS[name]), "number"
    return reader.fault(node, f"unknown function {name!r}{did_you_mean(name, NAMES)}")


def _no_keywords(reader: Reader, node: ast.Call, name: str) -> None:
    for keyword in node.keywords:
        reader.fault(keyword.value, f"{name}(...) takes no {keyword.arg}=")


def _only(reader: Reader, node: ast.Call, want: str) -> Expr:
    name = node.func.id if isinstance(node.func, ast.Name) else "it"
    _no_keywords(reader, node, name)
    if len(node.args) != 1:
        return reader.fault(node, f"{name}(...) takes one value")[0]
    return reader.need(node.args[0], reader.visit(node.args[0]), want)


def _function(reader: Reader, node: ast.Call, name: str, arity: int | None) -> Typed:
    _no_keywords(reader, node, name if arity else f"{name} of several values")
    if arity is not None and len(node.args) != arity:
        return reader.fault(node, f"{name}(...) takes {arity} value{'s' if arity > 1 else ''}")
    args = tuple(reader.need(arg, reader.visit(arg), "number") for arg in node.args)
    return Function(name, args), "number"


def _known(reader: Reader, node: ast.Call) -> Typed:
    _no_keywords(reader, node, "known")
    if len(node.args) != 1:
        return reader.fault(node, "known(...) takes one value")
    return Known(reader.visit(node.args[0])[0]), "truth"


def _or_else(reader: Reader, node: ast.Call) -> Typed:
    _no_keywords(reader, node, "or_else")
    if len(node.args) != 2:
        return reader.fault(node, "or_else(x, v) takes a value and what to use where it is absent")
    first, second = reader.visit(node.args[0]), reader.visit(node.args[1])
    kind = second[1] if first[1] == "any" else first[1]
    if second[1] not in ("any", kind):
        reader.need(node.args[1], second, kind)
    if first[1] == "any" and kind in ("number", "text"):
        reader.need(node.args[0], first, kind)
    return OrElse(first[0], second[0]), kind


def _indicators(reader: Reader, nodes: list[ast.expr], what: str) -> tuple[Indicator, ...]:
    found: list[Indicator] = []
    for node in nodes:
        expr = reader.visit(node)[0]
        if isinstance(expr, Indicator):
            found.append(expr)
        elif isinstance(node, ast.Name) and not reader.faults:
            reader.fault(node, f"{what} takes indicators such as MAN_LOVEBOMB, not {node.id!r}")
    return tuple(dict.fromkeys(found))


def _any(reader: Reader, node: ast.Call) -> Typed:
    _no_keywords(reader, node, "any")
    if not node.args:
        return reader.fault(node, "any(...) takes one or more indicators")
    return AnyOf(_indicators(reader, node.args, "any(...)")), "truth"


def _is_step_value(reader: Reader, node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)


def _step_mean(reader: Reader, node: ast.Call) -> Typed:
    _no_keywords(reader, node, "mean(step.x)")
    inner = reader.visit(node.args[0])
    if not reader.scope.gathers:
        return reader.fault(node, "mean(step.x) is for confidence, levels, details and explanation")
    reader.need(node.args[0], inner, "number")
    if not isinstance(inner[0], StepValue):
        return inner
    return StepMean(inner[0].step, inner[0].of), "number"


def _measure(reader: Reader, node: ast.Call, name: str, kind: MeasureKind) -> Typed:
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
    return Measure(name, of, window, condition, options), gives


def _cover(reader: Reader, node: ast.Call) -> Typed:
    if not reader.scope.measures:
        return reader.fault(node, f"cover(...) cannot stand {reader.scope.here}: no measure inside another")
    if len(node.args) != 1 or not isinstance(node.args[0], (ast.Tuple, ast.List)):
        return reader.fault(node, "cover((A, B), ...) takes a list of indicators, then options by name")
    items = _indicators(reader, node.args[0].elts, "cover(...)")
    weights = tuple(1.0 for _ in items)
    for keyword in node.keywords:
        if keyword.arg == "weights":
            weights = _weights(reader, keyword.value, items)
    window = read_window(reader, node, "cover", _COVER)
    return Cover(items, weights, window), "number"


def _weights(reader: Reader, node: ast.expr, items: tuple[Indicator, ...]) -> tuple[float, ...]:
    ones = tuple(1.0 for _ in items)
    tables = reader.scope.vocabulary.tables
    if not isinstance(node, ast.Name):
        reader.fault(node, "weights= takes the name of a table")
        return ones
    if node.id not in tables:
        reader.fault(node, f"unknown table {node.id!r}{did_you_mean(node.id, tables)}")
        return ones
    table = tables[node.id]
    missing = [item.name for item in items if item.name not in table]
    if missing:
        reader.fault(node, f"table {node.id!r} has no weight for {', '.join(missing)}")
        return ones
    reader.tables[node.id] = table
    return tuple(float(table[item.name]) for item in items)


def _own_options(
    reader: Reader, node: ast.Call, name: str, kind: MeasureKind
) -> tuple[tuple[str, tuple[float, ...]], ...]:
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    out: list[tuple[str, tuple[float, ...]]] = []
    for option, spec in kind.options.items():
        value = given.get(option)
        if value is None:
            if spec.default is None:
                reader.fault(node, f"{name}(...) needs {option}=")
            out.append((option, spec.default or (0.0,)))
            continue
        if spec.duration:
            duration = _duration(reader, value, option)
            out.append((option, (float(duration),)))
            continue
        nodes = list(value.elts) if isinstance(value, (ast.Tuple, ast.List)) else [value]
        numbers = tuple(number(reader, one, f"{option}=") for one in nodes)
        if len(numbers) != spec.values:
            reader.fault(value, f"{option}= takes {spec.values} number{'s' if spec.values > 1 else ''}")
        if any(n < 0 for n in numbers[1:]) or (option == "by" and numbers[0] <= 0):
            reader.fault(value, f"{option}= cannot be negative or nothing here")
        out.append((option, numbers))
    return tuple(sorted(out))


def number(reader: Reader, node: ast.expr, what: str) -> float:
    """A number known without data: digits, a parameter, arithmetic on them."""
    expr = reader.need(node, reader.visit(node), "number")
    if isinstance(expr, Number):
        return expr.value
    if not reader.faults:
        reader.fault(node, f"{what} takes a number or a parameter")
    return 0.0


def _duration(reader: Reader, node: ast.expr, what: str) -> int:
    expr = reader.visit(node)[0]
    try:
        if isinstance(expr, Text) and (us := parse_duration(expr.value)) > 0:
            return us
        if isinstance(expr, Number) and expr.value > 0:
            return round(expr.value * SECOND)
    except ValueError as fault:
        reader.fault(node, str(fault))
        return SECOND
    reader.fault(node, f"{what}= takes a duration such as '1d'")
    return SECOND


def read_window(reader: Reader, node: ast.Call, name: str, kind: MeasureKind) -> Window:
    """The window given by keywords, with the measure's own defaults."""
    known = (*kind.options, *(WINDOW_OPTIONS if kind.windowed else ()))
    given: dict[str, ast.expr] = {}
    for keyword in node.keywords:
        assert keyword.arg is not None
        if keyword.arg not in known:
            near = did_you_mean(keyword.arg, known)
            reader.fault(keyword.value, f"{name}(...) has no option {keyword.arg}={near}")
        elif keyword.arg in given:
            reader.fault(keyword.value, f"{keyword.arg}= stands twice")
        elif keyword.arg not in kind.options:
            given[keyword.arg] = keyword.value
    if not kind.windowed:
        return Window()
    keep = _count(reader, given["keep"], "keep", 1) if "keep" in given else None
    skip = _skip(reader, given["skip"]) if "skip" in given else kind.skip
    if "last" in given:
        last = _last(reader, given["last"])
    else:
        last = (kind.last,) if kind.last is not None and keep is None else ()
    at_least = _count(reader, given["at_least"], "at_least", 0) if "at_least" in given else 0
    if keep is not None:
        _check_keep(reader, given, skip, at_least, keep)
    sizes = [limit.n for limit in last if isinstance(limit, Events)]
    if sizes and at_least > min(sizes):
        reader.fault(given["at_least"], f"at_least={at_least} can never be met by last={min(sizes)}")
    return Window(
        skip=skip,
        last=last,
        keep=keep,
        since=_condition(reader, given.get("since"), "since"),
        where=_condition(reader, given.get("where"), "where"),
        at_least=at_least,
        over_subject=_over(reader, given.get("over")),
    )


def _check_keep(
    reader: Reader, given: dict[str, ast.expr], skip: Limit | None, at_least: int, keep: int
) -> None:
    for other in ("last", "since"):
        if other in given:
            reader.fault(given[other], f"keep= stands instead of last= and takes no {other}=")
    if isinstance(skip, Duration):
        reader.fault(given["skip"], "with keep=, skip= takes a number of events")
    if at_least > keep:
        reader.fault(given["at_least"], f"at_least={at_least} can never be met by keep={keep}")


def _over(reader: Reader, node: ast.expr | None) -> bool:
    if node is None:
        return False
    if isinstance(node, ast.Name) and node.id == "subject":
        return True
    reader.fault(node, "over= takes subject: the same window over all the subject's events")
    return False


def _condition(reader: Reader, node: ast.expr | None, name: str) -> Expr | None:
    if node is None:
        return None
    outer = reader.scope
    reader.scope = outer.inside_measure(f"inside {name}=")
    expr = reader.need(node, reader.visit(node), "truth")
    reader.scope = outer
    return expr


def _count(reader: Reader, node: ast.expr, what: str, lowest: int) -> int:
    value = number(reader, node, f"{what}=")
    if value != int(value) or not lowest <= value <= MAX_EVENTS:
        reader.fault(node, f"{what}= takes a whole number from {lowest} to {MAX_EVENTS}")
        return max(lowest, 1)
    return int(value)


def _limit(reader: Reader, node: ast.expr, what: str, lowest: int) -> Limit:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        count = parse_event_count(node.value)
        if count is None:
            return Duration(_duration(reader, node, what))
        if not lowest <= count <= MAX_EVENTS:
            reader.fault(node, f"{what}= takes {lowest} to {MAX_EVENTS} events")
        return Events(min(max(count, lowest), MAX_EVENTS))
    return Events(_count(reader, node, what, lowest))


def _skip(reader: Reader, node: ast.expr) -> Limit:
    return _limit(reader, node, "skip", 0)


def _last(reader: Reader, node: ast.expr) -> Limits:
    nodes = list(node.elts) if isinstance(node, (ast.Tuple, ast.List)) else [node]
    if not nodes:
        reader.fault(node, "last= takes a number of events, a duration such as '7d', or a list of both")
    return tuple(_limit(reader, one, "last", 1) for one in nodes)
