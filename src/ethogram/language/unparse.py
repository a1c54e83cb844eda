"""Expressions to text, as in a pattern file; parsing the text gives the same tree."""

from __future__ import annotations

from collections.abc import Iterable

from ..models.timestamps import format_duration
from . import ast
from .aggregates import MEASURES
from .ast import Expr, Limit

OR, AND, NOT, COMPARE, SUM, PRODUCT, SIGN, ATOM = range(8)
"""Precedence: an expression below the one its place requires gets parentheses."""

_NAMES = (ast.Signal, ast.Indicator, ast.Attribute, ast.Elapsed, ast.Result)


def write(expr: Expr, at_least: int = OR) -> str:
    """The expression in the language, with parameters and defines put in place.

    It is in parentheses where its precedence is below `at_least`. Three things have no form of their own
    there: a contrast's number is written like a measure, a define behind a step's dot like
    `warm.(compassion + 0.1)`, and a table of weights as its numbers.

    >>> write(ast.Compare(">", ast.Arithmetic("*", ast.Number(2.0), ast.Signal("x")), ast.Number(0.5)))
    '2 * x > 0.5'
    """
    text, level = _text(expr)
    return text if level >= at_least else f"({text})"


def write_limits(limits: Iterable[Limit]) -> str:
    """Limits as in a pattern file: '7d', '20 events', or both.

    >>> write_limits((ast.Events(20),))
    '20 events'
    """
    return " and ".join(
        f"{limit.n} event{'' if limit.n == 1 else 's'}"
        if isinstance(limit, ast.Events)
        else format_duration(limit.us)
        for limit in limits
    )


def write_number(value: float) -> str:
    """A number that reads back the same, without a point where it is whole.

    >>> write_number(3.0), write_number(0.25), write_number(-1e300)
    ('3', '0.25', '-1e+300')
    """
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def _text(expr: Expr) -> tuple[str, int]:
    match expr:
        case ast.And() | ast.Or():
            word, level = (" and ", AND) if isinstance(expr, ast.And) else (" or ", OR)
            return word.join(write(item, level + 1) for item in expr.items), level
        case ast.Not():
            return f"not {write(expr.of, NOT)}", NOT
        case ast.Compare():
            return f"{write(expr.left, SUM)} {expr.op} {write(expr.right, SUM)}", COMPARE
        case ast.Member():
            word = "not in" if expr.negated else "in"
            return f"{write(expr.of, SUM)} {word} {_tuple(expr.options)}", COMPARE
        case ast.Arithmetic():
            level = SUM if expr.op in "+-" else PRODUCT
            return f"{write(expr.left, level)} {expr.op} {write(expr.right, level + 1)}", level
        case ast.Negative():
            return f"-{write(expr.of, SIGN)}", SIGN
        case ast.Number():
            return write_number(expr.value), SIGN if expr.value < 0 else ATOM
        case _:
            return _atom(expr), ATOM


def _atom(expr: Expr) -> str:
    match expr:
        case ast.Text():
            return repr(expr.value)
        case ast.StepValue():
            return f"{expr.step}.{write(expr.of) if isinstance(expr.of, _NAMES) else f'({write(expr.of)})'}"
        case ast.StepCount():
            return f"{expr.step}.count"
        case ast.StepMean():
            return f"mean({write(ast.StepValue(expr.step, expr.of))})"
        case ast.Known():
            return f"known({write(expr.of)})"
        case ast.OrElse():
            return f"or_else({_list((expr.of, expr.default))})"
        case ast.AnyOf():
            return f"any({_list(expr.items)})"
        case ast.Function():
            return f"{expr.name}({_list(expr.args)})"
        case ast.Measure():
            kind = MEASURES[expr.name]
            options = [*_options(expr), *_window(expr.window, kind.skip, kind.last)]
            return _call(expr.name, write(expr.of), options)
        case ast.Cover():
            is_plain = all(weight == 1.0 for weight in expr.weights)
            weights = [] if is_plain else [f"weights={_numbers(expr.weights)}"]
            return _call("cover", _tuple(expr.items), [*weights, *_window(expr.window)])
        case ast.Difference():
            sides = {"where": expr.where, "against": expr.against, "within_each": expr.within_each}
            options = [f"{name}={write(side)}" for name, side in sides.items() if side is not None]
            return _call(expr.name, write(expr.of), [*options, *_window(expr.window)])
    assert isinstance(expr, _NAMES), f"no text for {type(expr).__name__}"
    return expr.name


def _list(items: Iterable[Expr]) -> str:
    return ", ".join(map(write, items))


def _tuple(items: tuple[Expr, ...]) -> str:
    return f"({_list(items)}{',' if len(items) == 1 else ''})"


def _options(expr: ast.Measure) -> list[str]:
    out = []
    for name, kind in MEASURES[expr.name].options.items():
        values = expr.option(name)
        if values is not None and values != kind.default:
            out.append(f"{name}={_duration(values[0]) if kind.duration else _numbers(values)}")
    return out


def _window(
    window: ast.Window, usual_skip: Limit | None = None, usual_last: Limit | None = None
) -> list[str]:
    out = []
    if window.skip is not None and window.skip != usual_skip:
        out.append(f"skip={_limit(window.skip)}")
    if window.last and window.last != (usual_last,):
        limits = [_limit(limit) for limit in window.last]
        out.append(f"last={limits[0] if len(limits) == 1 else '(' + ', '.join(limits) + ')'}")
    if window.keep is not None:
        out.append(f"keep={window.keep}")
    for name, condition in (("since", window.since), ("where", window.where)):
        if condition is not None:
            out.append(f"{name}={write(condition)}")
    if window.at_least:
        out.append(f"at_least={window.at_least}")
    if window.over_subject:
        out.append("over=subject")
    return out


def _call(name: str, first: str, options: list[str]) -> str:
    return f"{name}({', '.join([first, *options])})"


def _duration(us: float) -> str:
    return repr(format_duration(round(us)))


def _limit(limit: Limit) -> str:
    return str(limit.n) if isinstance(limit, ast.Events) else _duration(limit.us)


def _numbers(values: tuple[float, ...]) -> str:
    texts = [write_number(value) for value in values]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
