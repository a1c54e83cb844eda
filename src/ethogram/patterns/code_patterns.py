"""Patterns in code: their records, loading them, and the pattern file that each amounts to.

Its function becomes three signals (confidence, severity, and a report as JSON), and its pattern is a
threshold over the first of them: the engines need not know that there is code behind it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .. import registry
from ..errors import BadPattern, BadUsage, Fault
from ..language.ast import Signal
from ..language.vocabulary import Vocabulary
from ..language.yaml_source import read_yaml
from ..models import Event, stable_hash
from ..models.slotted import dataclass, field, replace
from ..registry import IN_CODE
from .examples import Example
from .pattern_file import LISTS, PatternFile, check_pattern

PREFIX = IN_CODE
"""Start of the names of signals that patterns in code make."""
RECORD_DETAIL = "*"
"""The detail that holds the report of a pattern in code, as JSON."""

State = Any
"""Plain JSON data: numbers, texts, lists, and objects by text."""


@dataclass(frozen=True, slots=True)
class Match:
    """A match of a pattern in code at an event, with its confidence (above 0, at most 1).

    `severity` is one of the pattern's severities (default: the lowest). `evidence` are the events that made
    it; the present one may be left out. `details` is plain JSON data; long values in it are cut.
    """

    confidence: float
    severity: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    evidence: tuple[Event, ...] | list[Event] = ()
    explanation: str = ""


Step = Callable[[Event, State], tuple[Match | None, State]]
"""Takes the next event of a history and the state before it; gives a match or None, and the state after."""


@dataclass(frozen=True, slots=True)
class CodePattern:
    """A registered pattern in code, checked. `path` and `line` are where its code begins."""

    name: str
    words: Mapping[str, Any]
    """What its pattern file would say beside the shape: title, description, status, cause ..."""
    step: Step = field(repr=False, compare=False)
    start: State
    severities: tuple[str, ...]
    group_by: tuple[str, ...]
    examples: tuple[Example, ...]
    version: int = 1
    needs: tuple[str, ...] = ()
    kinds: tuple[str, ...] | None = None
    path: str = ""
    line: int = 0
    module: str = ""
    qualname: str = ""
    made: Any = field(default=None, repr=False, compare=False)
    """The function or object that was registered."""
    keeps_events: bool = False
    """Whether its state is a window of events, which is plain and bounded already."""

    @property
    def origin(self) -> str:
        """Module and name of the code: two patterns of one name must have the same."""
        return f"{self.module}.{self.qualname}"

    @property
    def signal(self) -> str:
        """The signal of its confidence; the other two have the suffixes `_severity` and `_report`."""
        return PREFIX + self.name


_LOADED: dict[tuple[str, int], tuple[str, ...]] = {}
"""The names of the patterns in each file of code that was loaded, by its path and time of change."""


def load_code(path: Path) -> tuple[str, ...]:
    """Run a Python file and return the names of the patterns it registers.

    Only for files that the user names: nothing is run because it lies in a folder.
    """
    try:
        key = (str(path.resolve()), path.stat().st_mtime_ns)
    except OSError as error:
        raise BadPattern([Fault(str(path), 0, 0, f"cannot be read: {error.strerror}")]) from None
    if key not in _LOADED or not set(_LOADED[key]) <= set(registry.patterns.loaded()):
        _run(path)
        own = path.resolve()
        _LOADED[key] = tuple(
            name for name, pattern in code_patterns().items() if Path(pattern.path).resolve() == own
        )
    if not _LOADED[key]:
        how = "decorate a function with @ethogram.pattern(...), or call ethogram.register(...)"
        raise BadPattern([Fault(str(path), 0, 0, f"registers no pattern; {how}")])
    return _LOADED[key]


def _run(path: Path) -> None:
    try:
        registry.run_file(path)
    except BadUsage as error:
        if error.__cause__ is None:
            raise  # what the code itself says is wrong with its pattern
        raise BadPattern(error.faults) from error


def code_patterns() -> dict[str, CodePattern]:
    """Every registered pattern in code, by name; BadUsage for a plug-in that is not a pattern."""
    patterns = dict(registry.patterns.items())
    for name, item in patterns.items():
        if not isinstance(item, CodePattern):
            how = f"decorate it with @ethogram.pattern({name!r}, ...)"
            raise BadUsage(f"the plug-in {name!r} is not a pattern; {how}")
    return patterns


def file_of(code_pattern: CodePattern, vocabulary: Vocabulary) -> PatternFile:
    """The pattern file that a pattern in code amounts to."""
    # Examples are events already; these only have to be well formed.
    some = {"story": "in code", "events": [{"id": "e1"}]}
    record: dict[str, Any] = {
        "name": code_pattern.name,
        **code_pattern.words,
        "group_by": list(code_pattern.group_by),
        "shape": {"threshold": {"when": f"{code_pattern.signal} > 0"}},
        "confidence": code_pattern.signal,
        "severity": {
            severity: f"{code_pattern.signal}_severity >= {n}"
            for n, severity in enumerate(code_pattern.severities)
        },
        "details": {"report": f"{code_pattern.signal}_report"},
        "examples": {"fires": [some], "quiet": [some, some]},
    }
    signal = code_pattern.signal
    names = {signal: "number", f"{signal}_severity": "number", f"{signal}_report": "category"}
    known = replace(vocabulary, signals={**vocabulary.signals, **names})
    try:
        file = check_pattern(read_yaml(json.dumps(record), code_pattern.path), code_pattern.path, known)
    except BadPattern as error:
        # Positions in the generated file mean nothing to the author of the code.
        path, line = code_pattern.path, code_pattern.line
        raise BadPattern([Fault(path, line, 0, fault.message) for fault in error.faults]) from None

    def version_of(version: str) -> str:
        parts = (code_pattern.name, code_pattern.version, version, code_pattern.needs, code_pattern.kinds)
        return stable_hash("code", *parts)[:16]

    patterns = tuple(
        replace(
            pattern,
            details=((RECORD_DETAIL, Signal(f"{signal}_report")),),
            version=version_of(pattern.version),
        )
        for pattern in file.patterns
    )
    words = {**file.words, **{key: list(code_pattern.words.get(key, ())) for key in LISTS}}
    data = {"code": code_pattern.origin, "version": code_pattern.version, "needs": list(code_pattern.needs)}
    return replace(
        file,
        patterns=patterns,
        words=words,
        examples=code_pattern.examples,
        data={**record, "shape": {"code": data}, "examples": len(code_pattern.examples)},
        in_code=True,
    )
