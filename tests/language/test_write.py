"""What is written reads back as the same expression."""

from __future__ import annotations

from pathlib import Path

import pytest

import strategies
from ethogram.language.ast import (
    Attribute,
    Cover,
    Duration,
    Elapsed,
    Events,
    Expr,
    Indicator,
    Number,
    Result,
    Signal,
    StepCount,
    StepMean,
    StepValue,
)
from ethogram.language.expressions import Reader, Scope
from ethogram.language.unparse import write, write_limits
from ethogram.language.visitor import expressions, walk
from ethogram.language.vocabulary import Vocabulary
from ethogram.patterns.catalogue import load_vocabulary
from ethogram.patterns.library import SHIPPED
from ethogram.patterns.pattern_file import PatternFile, read_pattern_file
from sampling import seeds

NAMES = (Signal, Indicator, Attribute, Elapsed)
PLAIN = Scope(
    Vocabulary({"x": "number", "y": "number", "word": "category"}, frozenset({"MAN_A", "MAN_B"})),
    steps=("warm",),
    gathers=True,
)


def read(text: str, scope: Scope = PLAIN) -> Expr:
    reader = Reader(text, scope)
    expr = reader.read()[0]
    assert not reader.faults, f"{text}: {reader.faults}"
    return expr


def has_form(expr: Expr) -> bool:
    """Whether the language has a form for it: not for defines behind a step's dot, nor for plain weights."""
    return not any(
        (isinstance(item, (StepValue, StepMean)) and not isinstance(item.of, NAMES))
        or (isinstance(item, Cover) and set(item.weights) != {1.0})
        for item in walk(expr)
    )


def scope_of(exprs: list[Expr], vocabulary: Vocabulary) -> Scope:
    """Everything the expressions name."""
    inside = [item for expr in exprs for item in walk(expr)]
    results = [item.name for item in inside if isinstance(item, Result)]
    return Scope(
        vocabulary,
        results={name: "any" for name in results if "." not in name},
        steps=tuple({item.step for item in inside if isinstance(item, (StepValue, StepMean, StepCount))}),
        parts=tuple(name.rpartition(".")[0] for name in results if "." in name),
        gathers=True,
        lists=True,
    )


@pytest.mark.parametrize(
    "text",
    [
        "x > 0.5",
        "x > 0.5 and (y < 1 or word == 'it\\'s')",
        "not (x > 1 and y > 1)",
        "not x > 1 and y > 1",
        "x - (y - 1) - 2",
        "x / (y * 2) * 3",
        "-(x + y) * -2",
        "-x + -1e-05",
        "(x > 1 and y > 1) and x > 2",
        "word in ('a',) or word not in ('b', 'c')",
        "any(MAN_A, MAN_B) and known(x) and or_else(x, 0) > 1",
        "clip(x, 0, 1) + min(x, y, 3) - abs(y)",
        "min(x, last=5) > max(x, last=(5, '7d'), skip='1d')",
        "usual(x, skip=10, last=50) + surprise(y, prior=(0.3, 0.1, 5)) > 3",
        "count(x > 0.5, since=y > 1, where=word == 'a', at_least=3) >= 2",
        "mean(x, keep=20, over=subject) > newest(x)",
        "surprise_count(x > 1, span='2d', last='4w', prior=(1, 24)) > 2",
        "swings(x, by=0.2) + excess(y, over=0.5) + fading(x, half='36h')",
        "cover((MAN_A,), last='7d') + cover((MAN_A, MAN_B)) > 1",
        "mean(warm.x) * warm.y - warm.count + gap / age",
        "1 / 0",
    ],
)
def test_what_is_written_reads_back_the_same(text):
    expr = read(text)
    assert read(write(expr)) == expr


def test_plain_texts_come_out_as_they_went_in():
    for text in ("x > 0.5 and y < 1", "2 * (x + y)", "usual(x, skip=10, last=50) + 0.25", "not x > 1"):
        assert write(read(text)) == text


@pytest.mark.parametrize("seed", seeds(10, 40))
def test_every_random_expression_reads_back_to_the_same_text(seed):
    for pattern in strategies.random_case(seed).patterns:
        exprs = list(expressions((pattern.shape, pattern.confidence, pattern.severities, pattern.details)))
        inside = [item for expr in exprs for item in walk(expr)]
        vocabulary = Vocabulary(
            {item.name: "any" for item in inside if isinstance(item, Signal)},
            frozenset(item.name for item in inside if isinstance(item, Indicator)),
            {item.name: "any" for item in inside if isinstance(item, Attribute)},
        )
        scope = scope_of(exprs, vocabulary)
        # The parts of a combination may have names like told@1, which an expression cannot say.
        named = not any("@" in part for part in scope.parts)
        for expr in (expr for expr in exprs if named and has_form(expr)):
            text = write(expr)
            # Of texts, not trees: random trees leave out defaults that reading a text puts in.
            assert write(read(text, scope)) == text


def shipped() -> list[Path]:
    return sorted(SHIPPED.rglob("*.yaml"))


@pytest.mark.parametrize("path", shipped(), ids=lambda path: path.stem)
def test_every_expression_of_a_shipped_pattern_reads_back_the_same(path):
    file: PatternFile = read_pattern_file(path, load_vocabulary())
    for pattern in file.patterns:
        told = (pattern.shape, pattern.confidence, pattern.severities, pattern.details, pattern.explanation)
        exprs = list(expressions(told))
        scope = scope_of(exprs, file.vocabulary)
        for expr in filter(has_form, exprs):
            assert read(write(expr), scope) == expr


def test_a_define_behind_a_dot_and_weights_are_written_out():
    assert write(StepValue("warm", read("x + 1"))) == "warm.(x + 1)"
    cover = Cover((Indicator("MAN_A"), Indicator("MAN_B")), (0.5, 2.0))
    assert write(cover) == "cover((MAN_A, MAN_B), weights=(0.5, 2))"


def test_limits_are_written_as_in_a_file():
    assert write_limits((Duration(7 * 86_400_000_000), Events(1))) == "1w and 1 event"
    assert write(Number(1e20)) == "1e+20"
