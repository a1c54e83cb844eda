"""Lint: what could be better in patterns that load. What cannot be loaded is a BadPattern before this."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path

from .. import registry
from ..errors import Fault
from ..shapes.compile import compile_patterns
from ..shapes.history import belongs
from ..shapes.program import Program
from ..shapes.vocabulary import Vocabulary
from ..shapes.yaml import Fields, Node, read_yaml_file
from . import load
from .examples import Example, names_in
from .lint_shape import doubts
from .load import Library
from .parts import with_parts
from .pattern_file import PatternFile

WANTED = ("id", "cause", "triage", "false_positives", "misses", "explanation", "recommendation")
"""What every pattern of the library says, though the language does not ask for it."""

VERY_NEAR = 0.85


def lint(library: Library, vocabulary: Vocabulary) -> list[Fault]:
    """Warnings about the chosen patterns, by file and place; `vocabulary` is what is known without them."""
    return sorted({fault for file in library for fault in _lint_file(library, file, vocabulary)})


def _lint_file(library: Library, file: PatternFile, vocabulary: Vocabulary) -> Iterator[Fault]:
    if file.in_code:
        return
    node = read_yaml_file(file.path)
    assert isinstance(node, Fields)
    if is_shipped(file):
        yield from _lacking(file)
    for pattern in file.patterns:
        for message in doubts(pattern):
            yield _at(file, node.key("shape"), message)
    yield from _near_names(file, node, vocabulary)
    yield from _alike(file)
    yield from _beside_the_point(library, file)


def is_shipped(file: PatternFile) -> bool:
    """Whether a pattern is one of the library's own."""
    return Path(file.path).resolve().is_relative_to(load.SHIPPED.resolve())


def _at(file: PatternFile, node: Node | None, message: str) -> Fault:
    return Fault(file.path, node.line if node else 1, node.column if node else 1, message)


def _in_example(file: PatternFile, example: Example, message: str) -> Fault:
    return Fault(file.path, example.line, example.column, message)


def _lacking(file: PatternFile) -> Iterator[Fault]:
    missing = [key for key in WANTED if not file.data.get(key)]
    if missing:
        yield Fault(file.path, 1, 1, f"lacks {', '.join(missing)}; a pattern of the library has them all")


def _near_names(file: PatternFile, node: Fields, vocabulary: Vocabulary) -> Iterator[Fault]:
    """Names that only the examples declare, and that look like a known one written wrong."""
    known = sorted({*vocabulary.signals, *vocabulary.attributes})
    declared = {*file.vocabulary.signals, *file.vocabulary.attributes}.difference(known)
    places = names_in(node.get("examples"), vocabulary).places
    for name in sorted(declared):
        near = difflib.get_close_matches(name, known, n=1, cutoff=VERY_NEAR)
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
        return  # readings that no example has to give
    for example in file.examples:
        if not any(belongs(program, event) for program in programs for event in example.events):
            yield _in_example(file, example, f"{example.story!r} gives no reading that the shape names")


def _event_programs(library: Library, file: PatternFile) -> list[Program]:
    names = sorted(with_parts(library.files, [file.name]))
    programs = compile_patterns(pattern for name in names for pattern in library.files[name].patterns)
    return [program for program in programs if not program.is_combination]
