"""Combinations and their parts: every part is there, no circles, not too deep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import BadPattern, Fault, did_you_mean
from ..shapes.tree import Combination, Spread
from .pattern_file import PatternFile

if TYPE_CHECKING:
    from .load import Library

DEEPEST = 3


def parts_of(file: PatternFile) -> tuple[str, ...]:
    """The names a combination or spread refers to; () for other shapes."""
    shape = file.patterns[0].shape
    if isinstance(shape, Combination):
        return shape.parts
    return (shape.first, shape.then) if isinstance(shape, Spread) else ()


def base(name: str) -> str:
    """The file a part's name is in: resource_spiral of resource_spiral.tokens, con_game of con_game@3."""
    return name.partition("@")[0].partition(".")[0]


def with_parts(files: Mapping[str, PatternFile], names: Iterable[str]) -> set[str]:
    """The names and everything they are made of."""
    needed: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += [base(part) for part in parts_of(files[name]) if base(part) in files]
    return needed


def without_combinations(library: Library) -> Library:
    """The library with no combination among those that were asked for."""
    single = tuple(name for name in library.chosen if not parts_of(library.files[name]))
    return replace(library, chosen=single)


def multipliers_of(files: Mapping[str, PatternFile]) -> dict[str, float]:
    """By how much each combination multiplies odds, 1 at least: together is never less than alone."""
    shapes = {name: file.patterns[0].shape for name, file in files.items()}
    return {
        name: max(1.0, float(shape.multiplier))
        for name, shape in shapes.items()
        if isinstance(shape, Combination | Spread)
    }


def check_parts(files: Mapping[str, PatternFile]) -> None:
    """Raise BadPattern with every part that is not there, every circle, and what is too deep."""
    known = _known_names(files)
    faults = [
        _fault(file, part, f"{file.name} refers to an unknown pattern {part!r}{did_you_mean(part, known)}")
        for file in files.values()
        for part in parts_of(file)
        if part not in known
    ]
    for name, file in files.items():
        deep = _depth(files, name, ())
        if deep is None:
            faults.append(_fault(file, "", f"{name} is made of itself, directly or through others"))
        elif deep > DEEPEST:
            faults.append(_fault(file, "", f"{name} combines combinations more than {DEEPEST} deep"))
    if faults:
        raise BadPattern(sorted(faults))


def _fault(file: PatternFile, part: str, message: str) -> Fault:
    first = next(iter(file.places.values()), (1, 1))
    return Fault(file.path, *file.places.get(part, first), message)


def _known_names(files: Mapping[str, PatternFile]) -> set[str]:
    names = set(files)
    for file in files.values():
        for pattern in file.patterns:
            names.add(pattern.name)
            if pattern.tell_at is not None:
                names.add(f"{pattern.name}@{pattern.tell_at}")
    return names


def _depth(files: Mapping[str, PatternFile], name: str, above: tuple[str, ...]) -> int | None:
    if name in above:
        return None
    if name not in files:
        return 0
    depths = [_depth(files, base(part), (*above, name)) for part in parts_of(files[name])]
    if any(depth is None for depth in depths):
        return None
    return 1 + max((depth for depth in depths if depth is not None), default=-1) if depths else 0
