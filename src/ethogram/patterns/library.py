"""The library: find, select and load patterns; combinations and their parts."""

from __future__ import annotations

import contextlib
import fnmatch
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path

from ..config.trust import SUFFIXES, pattern_files
from ..errors import BadPattern, Fault, did_you_mean
from ..language.ast import Combination, Spread
from ..language.compiler import compile_patterns
from ..language.program import Program
from ..language.vocabulary import Vocabulary
from ..models.constants import ACTIVE_STATUSES
from ..models.detection import base_pattern
from ..models.slotted import dataclass, replace
from .catalogue import load_vocabulary
from .code_patterns import code_patterns, file_of, load_code
from .pattern_file import PatternFile, read_pattern_file

MAX_DEPTH = 3
"""Combinations of combinations."""
SHIPPED = Path(__file__).parents[1] / "library"
CODE = Path("code")
"""The folder that patterns in code count as: `code/*` selects all of them."""
_SHIPPED_READ: dict[tuple[Path, bool], tuple[Vocabulary, PatternFile]] = {}
"""Shipped files read by this process, with or without examples, and the vocabulary."""


def parts_of(file: PatternFile) -> tuple[str, ...]:
    """The names a combination or spread refers to; () for other shapes."""
    shape = file.patterns[0].shape
    if isinstance(shape, Combination):
        return shape.parts
    return (shape.first, shape.then) if isinstance(shape, Spread) else ()


def with_parts(files: Mapping[str, PatternFile], names: Iterable[str]) -> set[str]:
    """The names and everything they are made of."""
    needed: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += [base_pattern(part) for part in parts_of(files[name]) if base_pattern(part) in files]
    return needed


def without_combinations(library: Library) -> Library:
    """The library without the combinations among the chosen patterns."""
    single = tuple(name for name in library.chosen if not parts_of(library.files[name]))
    return replace(library, chosen=single)


def multipliers_of(files: Mapping[str, PatternFile]) -> dict[str, float]:
    """The factor by which each combination multiplies odds, at least 1."""
    shapes = {name: file.patterns[0].shape for name, file in files.items()}
    return {
        name: max(1.0, float(shape.multiplier))
        for name, shape in shapes.items()
        if isinstance(shape, Combination | Spread)
    }


def check_parts(files: Mapping[str, PatternFile]) -> None:
    """Raise BadPattern for unknown parts, circles, and combinations that are too deep."""
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
        elif deep > MAX_DEPTH:
            faults.append(_fault(file, "", f"{name} combines combinations more than {MAX_DEPTH} deep"))
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
    depths = [_depth(files, base_pattern(part), (*above, name)) for part in parts_of(files[name])]
    if any(depth is None for depth in depths):
        return None
    return 1 + max((depth for depth in depths if depth is not None), default=-1) if depths else 0


@dataclass(frozen=True)
class Library:
    """Pattern files, and which of them were chosen; the others are parts of combinations."""

    files: Mapping[str, PatternFile]
    chosen: tuple[str, ...]

    def __iter__(self) -> Iterator[PatternFile]:
        return iter(self.files[name] for name in self.chosen)

    def __len__(self) -> int:
        return len(self.chosen)

    @cached_property
    def programs(self) -> tuple[Program, ...]:
        """Programs of the chosen patterns and of the parts they need, in order of names."""
        needed = with_parts(self.files, self.chosen)
        return compile_patterns(pattern for name in sorted(needed) for pattern in self.files[name].patterns)

    @property
    def kinds(self) -> dict[str, str]:
        """Signals that must be numbers, or categories, as the chosen patterns use them."""
        record: dict[str, str] = {}
        for name in with_parts(self.files, self.chosen):
            file = self.files[name]
            record |= {k: v for k, v in file.vocabulary.signals.items() if v != "any"} | dict(file.kinds)
        return record

    def is_chosen(self, program: Program) -> bool:
        """Whether a program was chosen, or is only a part of a combination."""
        return program.pattern in self.chosen


def load_patterns(
    selectors: Sequence[str | Path] | None = None,
    *,
    more: Sequence[str | Path] = (),
    vocabulary: Vocabulary | None = None,
    parameters: Mapping[str, Mapping[str, float]] | None = None,
    status: Mapping[str, str] | None = None,
    any_status: bool = False,
    examples: bool = True,
) -> Library:
    """Load patterns by file, folder, name or glob; without selectors, all that are on by default.

    `more` are files and folders added to the shipped ones; a file replaces the shipped one of its name.
    `parameters` and `status` are overlays by pattern name. `any_status` includes retired and experimental
    ones. Without `examples`, those of shipped patterns are not read. BadPattern carries every fault of every
    file. Only files that are needed are read.
    """
    parameters, status = parameters or {}, status or {}
    places = places_of(more, selectors or ())
    _check_overlays(places, parameters, status)
    wanted = _wanted(places, selectors) if selectors else set(places)
    if not selectors and not any_status:
        wanted -= {name for name in wanted - status.keys() if _is_shipped_off(places[name])}
    files = _read_with_parts(places, wanted, vocabulary or load_vocabulary(), parameters, examples)
    files = {name: _with_status(file, status.get(name)) for name, file in files.items()}
    check_parts(files)
    return Library(files, _choose(files, wanted, named=bool(selectors), any_status=any_status))


def _is_path(selector: str | Path) -> bool:
    text = str(selector)
    if _is_code(selector):
        return False
    if isinstance(selector, Path) or text.endswith(SUFFIXES):
        return True
    # Not pathlib: a name may be too long for a path, and then it is none.
    return os.path.isdir(text) or ("/" in text and os.path.exists(text))  # noqa: PTH110, PTH112


def _is_code(selector: str | Path) -> bool:
    return str(selector).endswith(".py")


def places_of(more: Sequence[str | Path], selectors: Sequence[str | Path]) -> dict[str, Path]:
    """The file of each pattern, by name; the user's replace shipped ones. Those in code need other names."""
    shipped = {path.stem: path for path in pattern_files(SHIPPED)}
    for selector in filter(_is_code, selectors):
        load_code(Path(selector))
    in_code = {name: CODE / name for name in code_patterns()}
    own: dict[str, Path] = {}
    hint = "code is run only where it is named: --patterns FILE.py, or an entry point"
    faults = [Fault(str(item), 0, 0, f"is not a pattern file; {hint}") for item in more if _is_code(item)]
    more = [item for item in more if not _is_code(item)]
    known = shipped | in_code | {path.stem: path for item in more for path in pattern_files(Path(item))}
    named = [selector for selector in selectors if _is_path(selector) and not _is_name(known, selector)]
    for path in [p for item in (*more, *named) for p in pattern_files(Path(item))]:
        first = own.setdefault(path.stem, path)
        if first != path and first.resolve() != path.resolve():
            faults.append(Fault(str(path), 1, 1, f"pattern {path.stem!r} is also in {first}; rename one"))
    faults += [
        Fault(str((shipped | own)[name]), 1, 1, f"pattern {name!r} is also registered in code; rename one")
        for name in sorted(in_code.keys() & (shipped | own).keys())
    ]
    if faults:
        raise BadPattern(faults)
    return shipped | own | in_code


def _is_shipped_off(path: Path) -> bool:
    """Whether a shipped pattern is off by default, judged by its `status:` line without parsing the file."""
    if SHIPPED not in path.parents:
        return False
    with contextlib.suppress(OSError, ValueError):
        line = re.search(r"^status: (\w+)$", path.read_text("utf-8"), re.M)
        return line is not None and line[1] not in ACTIVE_STATUSES
    return False


def _wanted(places: Mapping[str, Path], selectors: Sequence[str | Path]) -> set[str]:
    names = [matching(places, selector) for selector in selectors]
    faults = [not_found(places, selector) for selector, own in zip(selectors, names, strict=True) if not own]
    if faults:
        raise BadPattern(faults)
    return set().union(*names)


def not_found(places: Mapping[str, Path], selector: str | Path) -> Fault:
    """The fault of a selector that matches no pattern."""
    name = str(selector)
    if os.path.isdir(name):  # noqa: PTH112
        return Fault(name, 0, 0, "is a folder without pattern files (*.yaml)")
    if "/" in name:
        return Fault(name, 0, 0, "no such file or folder, and no pattern of that name")
    hint = did_you_mean(name, places) or "; `ethogram patterns list` lists them"
    if "," in name:
        hint = ": expected one name; repeat --patterns for more"
    return Fault("", 0, 0, f"no pattern is named {name!r:.80}{hint}")


def matching(places: Mapping[str, Path], selector: str | Path) -> set[str]:
    """The names of the patterns that a selector matches."""
    if _is_code(selector):
        return set(load_code(Path(selector)))
    named = _named(places, selector)
    if not _is_path(selector):
        return named or _confirming(places, str(selector))
    files = pattern_files(Path(selector))
    # A known name that is not one of these files: the selector is the name.
    if _is_name(places, selector) and not {places[name] for name in named} & set(files):
        return named
    return {path.stem for path in files}


def _named(places: Mapping[str, Path], selector: str | Path) -> set[str]:
    return {
        name
        for name, path in places.items()
        if fnmatch.fnmatchcase(name, str(selector))
        or fnmatch.fnmatchcase(f"{path.parent.name}/{name}", str(selector))
    }


def _confirming(places: Mapping[str, Path], selector: str) -> set[str]:
    """The patterns that confirm an indicator, named as MAN_LOVEBOMB or MAN-LOVEBOMB."""
    indicator = selector.upper().replace("-", "_")
    if not re.fullmatch(r"[A-Z]{3}_[A-Z0-9_]+", indicator):
        return set()
    confirms = re.compile(rf"^confirms: .*\b{indicator}\b", re.M)
    return {
        name for name, path in places.items() if path.is_file() and confirms.search(path.read_text("utf-8"))
    }


def _is_name(places: Mapping[str, Path], selector: str | Path) -> bool:
    """Whether a selector names known patterns, so that a folder of that name is ignored.

    Otherwise a project could replace a pattern by a folder of its name. `./loop` is the folder.
    """
    is_text = isinstance(selector, str) and not selector.endswith(SUFFIXES)
    return is_text and bool(_named(places, selector))


def _read_with_parts(
    places: Mapping[str, Path],
    wanted: Iterable[str],
    vocabulary: Vocabulary,
    parameters: Mapping[str, Mapping[str, float]],
    examples: bool,
) -> dict[str, PatternFile]:
    """Read the wanted files and those of their parts; BadPattern carries every fault."""
    # By name: a folder of the user may be called `code` too.
    in_code = code_patterns()
    files: dict[str, PatternFile] = {}
    faults: list[Fault] = []
    waiting = sorted(wanted)
    seen = set(waiting)
    while waiting:
        name = waiting.pop(0)
        overlay = parameters.get(name)
        try:
            if name in in_code:
                file = _from_code(name, vocabulary, overlay)
            else:
                file = _read(places[name], vocabulary, overlay, examples)
        except BadPattern as error:
            faults += error.faults
            continue
        files[name] = file
        new = {base_pattern(part) for part in parts_of(file)} - seen
        seen |= new
        # A part may lie beside the combination that names it.
        beside = {part: Path(file.path).with_name(f"{part}.yaml") for part in new - places.keys()}
        places = {**places, **{part: path for part, path in beside.items() if path.is_file()}}
        waiting += sorted(new & places.keys())
    if faults:
        raise BadPattern(faults)
    return files


def _read(
    path: Path, vocabulary: Vocabulary, overlay: Mapping[str, float] | None, examples: bool
) -> PatternFile:
    """Read a pattern file; a shipped one only once in a process, for programs that load patterns often."""
    if SHIPPED not in path.parents:
        return read_pattern_file(path, vocabulary, overlay)
    if overlay:
        return read_pattern_file(path, vocabulary, overlay, examples=examples)
    known = _SHIPPED_READ.get((path, examples))
    if known is None or known[0] != vocabulary:
        known = vocabulary, read_pattern_file(path, vocabulary, examples=examples)
        _SHIPPED_READ[path, examples] = known
    return known[1]


def _from_code(name: str, vocabulary: Vocabulary, overlay: Mapping[str, float] | None) -> PatternFile:
    pattern = code_patterns()[name]
    if overlay:
        message = f"pattern {name!r} is in code and has no parameters, so {', '.join(overlay)} cannot be set"
        raise BadPattern([Fault(pattern.path, pattern.line, 0, message)])
    return file_of(pattern, vocabulary)


def _with_status(file: PatternFile, status: str | None) -> PatternFile:
    if status is None:
        return file
    patterns = tuple(replace(pattern, status=status) for pattern in file.patterns)
    return replace(file, status=status, patterns=patterns)


def _check_overlays(
    places: Mapping[str, Path], parameters: Mapping[str, object], status: Mapping[str, object]
) -> None:
    faults = [
        Fault("", 0, 0, f"settings name an unknown pattern {name!r}{did_you_mean(name, places)}")
        for name in dict.fromkeys([*parameters, *status])
        if name not in places
    ]
    if faults:
        raise BadPattern(faults)


def _choose(
    files: Mapping[str, PatternFile], wanted: set[str], *, named: bool, any_status: bool
) -> tuple[str, ...]:
    if any_status:
        return tuple(sorted(wanted))
    if not named:
        return tuple(sorted(name for name in wanted if files[name].status in ACTIVE_STATUSES))
    retired = {name for name in wanted if files[name].status == "retired"}
    if retired and retired == wanted:
        names = ", ".join(sorted(retired))
        message = f"{names}: retired, so it is not run; set another status to run it"
        raise BadPattern([Fault("", 0, 0, message)])
    return tuple(sorted(wanted - retired))


select = partial(load_patterns, any_status=True)
"""Load patterns of any status, for listing and testing; all without selectors."""
