"""Lint: advice about patterns that load. Files that cannot be loaded raise BadPattern before."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from pathlib import Path

from .. import registry
from ..errors import Fault
from ..language import ast
from ..language.ast import Expr, Pattern, Signal
from ..language.compiler import compile_patterns
from ..language.history import belongs
from ..language.program import Program
from ..language.three_valued import FLIPPED
from ..language.visitor import MEASURES, named, walk
from ..language.vocabulary import Vocabulary
from ..language.yaml_source import Fields, Node, read_yaml_file
from . import library as shipped
from .examples import Example, names_in
from .library import Library, with_parts
from .pattern_file import PatternFile

EXPECTED = ("id", "cause", "triage", "false_positives", "misses", "explanation", "recommendation")
"""Keys that every pattern of the library has, though the language does not require them."""
CUTOFF = 0.85
"""Similarity from which a name counts as a misspelling of another."""
VERDICT = re.compile(r"(is|has|was)_\w+|\w+_(detected|detection|flag|flagged|alert|alarm|pattern)")
"""Names of signals that give the answer instead of measuring something."""
FLAGS = ((">", 0.0), (">=", 1.0), ("==", 1.0), ("!=", 0.0))
"""Comparisons that only ask whether a signal is set."""
_BETTER = "name what it is made of, so that parameters and explanations can speak of it"


def doubts(pattern: Pattern) -> Iterator[str]:
    """A message for everything doubtful about a shape."""
    for name in named(pattern.shape, Signal):
        if VERDICT.fullmatch(name) or name == pattern.file:
            yield f"signal {name!r} seems to be the pattern already; {_BETTER}"
    whole = _whole(pattern.shape)
    if whole is not None and _threshold(whole) in FLAGS:
        signal = named(whole, Signal)[0]
        yield f"the whole shape is one look at {signal!r}, so that signal already is the pattern; {_BETTER}"
    elif _is_absolute(pattern.shape):
        yield (
            "every step compares with a fixed number, which sees level and not shape: shuffled events would "
            "fire as well; compare one with usual(...) or with an earlier step"
        )


def _whole(shape: ast.Shape) -> Expr | None:
    """The only condition of a shape, or None where it has more."""
    if isinstance(shape, ast.Threshold):
        return shape.when
    if isinstance(shape, ast.Sequence) and len(shape.items) == 1:
        (item,) = shape.items
        return item.condition if isinstance(item, ast.Step) and item.times == 1 else None
    return None


def _threshold(expr: Expr) -> tuple[str, float] | None:
    """Operator and number of a condition that compares one signal with a number."""
    if not isinstance(expr, ast.Compare):
        return None
    match expr.left, expr.right:
        case Signal(), ast.Number(value):
            return expr.op, value
        case ast.Number(value), Signal():
            return FLIPPED.get(expr.op, expr.op), value
    return None


def _is_absolute(shape: ast.Shape) -> bool:
    return isinstance(shape, ast.Sequence) and all(_compares_with_numbers(s.condition) for s in shape.steps)


def _compares_with_numbers(expr: Expr) -> bool:
    """Whether a condition only compares signals with fixed numbers."""
    inside = list(walk(expr))
    if any(
        isinstance(item, (*MEASURES, ast.StepValue, ast.Elapsed, ast.AnyOf, ast.Member)) for item in inside
    ):
        return False
    compared = [item for item in inside if isinstance(item, ast.Compare)]
    return bool(compared) and all(
        item.op in FLIPPED
        and bool(named(item.left, Signal)) != bool(named(item.right, Signal))
        and _threshold(item) not in FLAGS
        for item in compared
    )


def lint(library: Library, vocabulary: Vocabulary) -> list[Fault]:
    """Warnings about the chosen patterns, by file and position; `vocabulary` is the one without them."""
    return sorted({fault for file in library for fault in _lint_file(library, file, vocabulary)})


def _lint_file(library: Library, file: PatternFile, vocabulary: Vocabulary) -> Iterator[Fault]:
    if file.in_code:
        return
    node = read_yaml_file(file.path)
    assert isinstance(node, Fields)
    if is_shipped(file) and (missing := [key for key in EXPECTED if not file.data.get(key)]):
        message = f"lacks {', '.join(missing)}; a pattern of the library has them all"
        yield Fault(file.path, 1, 1, message)
    for pattern in file.patterns:
        for message in doubts(pattern):
            yield _at(file, node.key("shape"), message)
    yield from _near_names(file, node, vocabulary)
    yield from _alike(file)
    yield from _beside_the_point(library, file)


def is_shipped(file: PatternFile) -> bool:
    """Whether a pattern is one of the library's own."""
    return Path(file.path).resolve().is_relative_to(shipped.SHIPPED.resolve())


def _at(file: PatternFile, node: Node | None, message: str) -> Fault:
    return Fault(file.path, node.line if node else 1, node.column if node else 1, message)


def _in_example(file: PatternFile, example: Example, message: str) -> Fault:
    return Fault(file.path, example.line, example.column, message)


def _near_names(file: PatternFile, node: Fields, vocabulary: Vocabulary) -> Iterator[Fault]:
    """Names that only the examples declare, and that look like a known one written wrong."""
    known = sorted({*vocabulary.signals, *vocabulary.attributes})
    declared = {*file.vocabulary.signals, *file.vocabulary.attributes}.difference(known)
    places = names_in(node.get("examples"), vocabulary).places
    for name in sorted(declared):
        near = difflib.get_close_matches(name, known, n=1, cutoff=CUTOFF)
        if near:
            message = f"only the examples know {name!r}; is {near[0]!r} meant?"
            yield _at(file, places.get(name), message)


def _alike(file: PatternFile) -> Iterator[Fault]:
    for i, example in enumerate(file.examples):
        for other in () if example.fires else file.examples[:i]:
            if (example.events, example.as_of) == (other.events, other.as_of):
                message = f"{example.story!r} has the same events as {other.story!r} in line {other.line}"
                yield _in_example(file, example, message)
                break


def _beside_the_point(library: Library, file: PatternFile) -> Iterator[Fault]:
    """Examples in which no event belongs to any history of the pattern or its parts."""
    programs = _event_programs(library, file)
    measured = set(registry.signals.names())
    if any(measured.intersection(program.signals) for program in programs):
        return  # these readings are measured, and examples need not have them
    for example in file.examples:
        if not any(belongs(program, event) for program in programs for event in example.events):
            yield _in_example(file, example, f"{example.story!r} gives no reading that the shape names")


def _event_programs(library: Library, file: PatternFile) -> list[Program]:
    names = sorted(with_parts(library.files, [file.name]))
    programs = compile_patterns(pattern for name in names for pattern in library.files[name].patterns)
    return [program for program in programs if not program.is_combination]
