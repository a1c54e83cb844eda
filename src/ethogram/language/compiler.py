"""Patterns to programs: trend and contrast become thresholds, steps places, results measures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from . import ast
from .ast import Expr
from .program import Optional, Place, Program, SequenceProgram, SilenceProgram, ThresholdProgram
from .visitor import MEASURES, named, needs_time, once_each, only_durations, walk


def compile_patterns(patterns: Iterable[ast.Pattern]) -> tuple[Program, ...]:
    """The programs of patterns, with `name@k` for those that report early."""
    return tuple(program for pattern in patterns for program in compile_pattern(pattern))


@once_each
def compile_pattern(pattern: ast.Pattern) -> tuple[Program, ...]:
    """The pattern's program and, with `tell_at`, the program of its first steps."""
    main = _program(pattern)
    if pattern.tell_at is None or not isinstance(pattern.shape, ast.Sequence):
        return (main,)
    early = _program(_early(pattern, pattern.shape, pattern.tell_at))
    # The same events as the whole pattern, since max_gap and limits count them.
    return (main, replace(early, signals=main.signals, evaluated=main.evaluated))


def _early(pattern: ast.Pattern, shape: ast.Sequence, k: int) -> ast.Pattern:
    """The first k steps as a pattern of its own."""
    last = shape.steps[k - 1]
    items = shape.items[: shape.items.index(last) + 1]
    return replace(
        pattern,
        name=f"{pattern.name}@{k}",
        shape=replace(shape, items=items),
        confidence=ast.Number(k / len(shape.steps)),
        severities=(("low", None),),
        details=(),
        confirms=(),
        explanation=(
            f"The first {k} of {len(shape.steps)} steps: {', '.join(s.name for s in shape.steps[:k])}.",
        ),
        tell_at=None,
    )


def _program(pattern: ast.Pattern) -> Program:
    results = _results(pattern.shape)
    shape = pattern.shape
    signals = named(shape, ast.Signal)
    evaluated = bool(named(shape, ast.Indicator))
    everything = isinstance(shape, ast.Silence)
    body = _body(pattern)
    return Program(
        name=pattern.name,
        pattern=pattern.file or pattern.name.partition("@")[0],
        version=pattern.version,
        group_by=pattern.group_by if "subject" in pattern.group_by else ("subject", *pattern.group_by),
        body=body,
        signals=() if everything else signals,
        evaluated=evaluated and not everything,
        timed_only=_timed_only(shape, body),
        confidence=_put(pattern.confidence, results),
        severities=_put(pattern.severities, results),
        details=_put(pattern.details, results),
        explanation=_put(pattern.explanation, results),
        confirms=pattern.confirms,
        cause=pattern.cause,
        title=pattern.title,
        status=pattern.status,
        recommendation=pattern.recommendation,
    )


def _body(pattern: ast.Pattern) -> Any:
    match pattern.shape:
        case ast.Sequence() as shape:
            return _sequence(shape)
        case ast.Threshold() as shape:
            return _threshold(shape.when, shape.clears, shape.stays)
        case ast.Trend() | ast.Contrast() as shape:
            first = next(iter(_results(shape).values()))
            return ThresholdProgram(_when(shape), shape.clears, shape.stays, (first,))
        case ast.Silence() as shape:
            return SilenceProgram(shape.longer_than, shape.after, shape.at_least)
        case shape:
            return shape


def _sequence(shape: ast.Sequence) -> SequenceProgram:
    places: list[Place] = []
    optionals: list[Optional] = []
    nevers: list[Expr] = []
    for item in shape.items:
        if isinstance(item, ast.Never):
            nevers.append(item.condition)
        elif item.optional:
            optionals.append(Optional(item.name, item.condition, len(places) - 1))
        else:
            first = Place(item.name, item.condition, shape.max_gap, item.within, tuple(nevers))
            places += [first, *[replace(first, nevers=())] * (item.times - 1)]
            nevers = []
    collects = tuple(step.name for step in shape.steps if step.collects)
    return SequenceProgram(tuple(places), shape.within, tuple(optionals), collects)


def _threshold(when: Expr, clears: Expr | None, stays: bool) -> ThresholdProgram:
    counted = tuple(dict.fromkeys(item for item in walk(when) if isinstance(item, MEASURES)))
    return ThresholdProgram(when, clears, stays, counted)


def _results(shape: ast.Shape) -> dict[str, Expr]:
    """What confidence, severity and texts may name of a trend or contrast."""
    if isinstance(shape, ast.Trend):
        return {name: ast.Measure(name, shape.of, shape.window) for name in ("rise", "tau")}
    if not isinstance(shape, ast.Contrast):
        return {}
    names = ("difference", "plain_difference", "t", "n_where", "n_against")
    sides = (shape.of, shape.where, shape.against, shape.within_each, shape.at_least, shape.window)
    return {name: ast.Difference(name, *sides) for name in names}


def _when(shape: ast.Trend | ast.Contrast) -> Expr:
    """The condition that a trend or contrast amounts to."""
    results, op, sign = _results(shape), ">=", 1.0
    if isinstance(shape, ast.Contrast):
        limits = {"difference": shape.difference, "t": shape.t}
    else:
        limits = {"rise": shape.amount, "tau": shape.tau}
        op, sign = ("<=", -1.0) if shape.falling else (op, sign)
    items = [ast.Compare(op, results[name], ast.Number(sign * limit)) for name, limit in limits.items()]
    return ast.And((*items, *(() if shape.further is None else (shape.further,))))


def _put(node: Any, results: Mapping[str, Expr]) -> Any:
    """The tree with the results of the shape in place of their names."""
    if isinstance(node, ast.Result):
        return results.get(node.name, node)
    if isinstance(node, tuple):
        return tuple(_put(item, results) for item in node)
    if not results or not is_dataclass(node) or isinstance(node, type):
        return node
    return replace(node, **{f.name: _put(getattr(node, f.name), results) for f in fields(node)})


def _timed_only(shape: Any, body: Any) -> bool:
    """Whether the shape needs events with times."""
    if isinstance(shape, (ast.Silence, ast.Spread)):
        return True
    if isinstance(shape, ast.Combination):
        return shape.within is not None
    limits: list[ast.Limits] = []
    if isinstance(shape, ast.Sequence):
        limits = [shape.within, *(item.within for item in shape.items if isinstance(item, ast.Step))]
    return any(only_durations(limit) for limit in limits) or needs_time(body)


def uses_steps(expr: Expr) -> bool:
    """Whether an expression names an earlier step."""
    return any(isinstance(item, ast.StepValue) for item in walk(expr))
