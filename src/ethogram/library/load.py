"""The library: pattern files found by name, folder or glob, and the programs they make."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import BadPattern, Fault, did_you_mean
from ..shapes.compile import compile_patterns
from ..shapes.program import Program
from ..shapes.vocabulary import Vocabulary
from .parts import check_parts, with_parts
from .pattern_file import PatternFile, read_pattern_file
from .vocabulary import load_vocabulary

SHIPPED = Path(__file__).parents[1] / "patterns"
SUFFIXES = (".yaml", ".yml")
ON = ("stable", "test")


@dataclass(frozen=True, slots=True)
class Library:
    """Pattern files, and which of them were asked for; the others are there as parts of combinations."""

    files: Mapping[str, PatternFile]
    chosen: tuple[str, ...]

    def __iter__(self) -> Iterator[PatternFile]:
        return iter(self.files[name] for name in self.chosen)

    def __len__(self) -> int:
        return len(self.chosen)

    @property
    def programs(self) -> tuple[Program, ...]:
        """Programs of the chosen patterns and of the parts they need, in order of names."""
        needed = with_parts(self.files, self.chosen)
        return compile_patterns(pattern for name in sorted(needed) for pattern in self.files[name].patterns)

    @property
    def kinds(self) -> dict[str, str]:
        """Signals that must be numbers, or categories, as the chosen patterns use them."""
        found: dict[str, str] = {}
        for name in with_parts(self.files, self.chosen):
            file = self.files[name]
            found |= {k: v for k, v in file.vocabulary.signals.items() if v != "any"} | dict(file.kinds)
        return found

    def is_chosen(self, program: Program) -> bool:
        """Whether a program was asked for, or is there only as a part."""
        return program.pattern in self.chosen


def load_patterns(
    selectors: Sequence[str | Path] | None = None,
    *,
    more: Sequence[str | Path] = (),
    vocabulary: Vocabulary | None = None,
    parameters: Mapping[str, Mapping[str, float]] | None = None,
    status: Mapping[str, str] | None = None,
) -> Library:
    """Patterns by file, folder, name or glob; without selectors, all that are on by default.

    `more` are files and folders added to the shipped ones. `parameters` and `status` are overlays by
    pattern name. Every fault of every file is in the one BadPattern raised.
    """
    vocabulary = vocabulary or load_vocabulary()
    named_files = [path for path in selectors or () if _is_path(path)]
    paths = _paths(SHIPPED) + [p for one in (*more, *named_files) for p in _paths(Path(one))]
    files = _read_all(paths, vocabulary, parameters or {})
    files = {name: _with_status(file, (status or {}).get(name)) for name, file in files.items()}
    _check_overlays(files, parameters or {}, status or {})
    check_parts(files)
    return Library(files, _choose(files, selectors, more))


def _is_path(selector: str | Path) -> bool:
    text = str(selector)
    if isinstance(selector, Path) or text.endswith(SUFFIXES):
        return True
    return Path(text).is_dir() or ("/" in text and Path(text).exists())


def _paths(path: Path) -> list[Path]:
    if path.is_dir():
        found = [p for p in path.rglob("*") if p.suffix in SUFFIXES and not p.name.startswith(".")]
        return sorted(found)
    return [path]


def _read_all(
    paths: Iterable[Path], vocabulary: Vocabulary, parameters: Mapping[str, Mapping[str, float]]
) -> dict[str, PatternFile]:
    """Files by pattern name. A file given twice is read once; two files of one name are a fault."""
    files: dict[str, PatternFile] = {}
    faults: list[Fault] = []
    for path in dict.fromkeys(paths):
        try:
            file = read_pattern_file(path, vocabulary, parameters.get(path.stem))
        except BadPattern as error:
            faults += error.faults
            continue
        known = files.get(file.name)
        if known is not None and not Path(known.path).samefile(path):
            faults.append(
                Fault(str(path), 1, 1, f"pattern {file.name!r} is also in {known.path}; rename one")
            )
        files[file.name] = file
    if faults:
        raise BadPattern(faults)
    return files


def _with_status(file: PatternFile, status: str | None) -> PatternFile:
    if status is None:
        return file
    patterns = tuple(replace(pattern, status=status) for pattern in file.patterns)
    return replace(file, status=status, patterns=patterns)


def _check_overlays(
    files: Mapping[str, PatternFile], parameters: Mapping[str, object], status: Mapping[str, object]
) -> None:
    faults = [
        Fault("", 0, 0, f"settings name a pattern {name!r} that is not there{did_you_mean(name, files)}")
        for name in dict.fromkeys([*parameters, *status])
        if name not in files
    ]
    if faults:
        raise BadPattern(faults)


def _choose(
    files: Mapping[str, PatternFile], selectors: Sequence[str | Path] | None, more: Sequence[str | Path]
) -> tuple[str, ...]:
    if not selectors:
        return tuple(sorted(name for name, file in files.items() if file.status in ON))
    chosen: set[str] = set()
    faults: list[Fault] = []
    for selector in selectors:
        found = _matching(files, selector)
        if not found:
            near = did_you_mean(str(selector), files)
            faults.append(Fault("", 0, 0, f"no pattern is named {str(selector)!r}{near}"))
        chosen |= found
    if faults:
        raise BadPattern(faults)
    return tuple(sorted(name for name in chosen if files[name].status != "retired"))


def _matching(files: Mapping[str, PatternFile], selector: str | Path) -> set[str]:
    if _is_path(selector):
        inside = {p.resolve() for p in _paths(Path(selector)) if p.exists()}
        found = {name for name, file in files.items() if Path(file.path).resolve() in inside}
        if found or Path(selector).exists():
            return found
    return {
        name
        for name, file in files.items()
        if fnmatch.fnmatchcase(name, str(selector))
        or fnmatch.fnmatchcase(f"{Path(file.path).parent.name}/{name}", str(selector))
    }
