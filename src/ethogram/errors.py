"""The exceptions of this package.

    EthogramError
    ├── BadInput            input was wrong; carries every fault (exit code 2)
    │   ├── BadPattern      in pattern files
    │   ├── BadEvents       in event files
    │   ├── BadLabels       in files of labels
    │   ├── BadConfig       in ethogram.yaml or the environment
    │   └── BadUsage        in how a command or function was called
    │       └── NotFound    a subject, source or detection that is not in the store
    ├── Conflict            one event id with two different contents (exit code 2)
    ├── MissingExtra        an optional package is not installed (exit code 2)
    ├── StoreFailed         a store cannot be read or written now: locked, away, full, damaged (exit code 2)
    └── EvaluatorStopped    an evaluator cannot answer any question (exit code 2)

A fault says where (file:line:column), what is wrong and what was expected.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from .models.lazy_regex import Rule
from .models.record import Record
from .models.slotted import dataclass

if TYPE_CHECKING:
    from .fields import Name, Place


@dataclass(frozen=True, slots=True, order=True)
class Fault(Record):
    """One thing that is wrong in a file or a command.

    Lines and columns count from 1; 0 (in JSON null) where unknown.
    """

    RECORD = "fault"

    path: str
    line: Place
    column: Place
    message: Name

    def __str__(self) -> str:
        place = self.path
        if self.line:
            place += f":{self.line}"
            if self.column:
                place += f":{self.column}"
        return f"{place}: {self.message}" if place else self.message

    def to_dict(self) -> dict[str, object]:
        """The JSON form; null for a line or column that is not known."""
        return {**Record.to_dict(self), "line": self.line or None, "column": self.column or None}


ALIKE, NAMED = 3, 5
"""Faults of one kind that are listed one by one; of more, the first, and so many further lines."""
_VALUES = Rule(r"'[^']*'|\d[\w:.+-]*")


def joined(faults: Iterable[Fault]) -> list[Fault]:
    """The faults; of many in a file that differ in quoted values and numbers only, the first with all lines.

    >>> faults = [Fault("a.csv", line, 0, f"at: '{line}' is not a time") for line in range(2, 9)]
    >>> [str(fault) for fault in joined(faults)]
    ["a.csv:2: at: '2' is not a time; also lines 3, 4, 5, 6, 7 and 1 more"]
    """
    alike: dict[tuple[str, ...], list[Fault]] = {}
    for fault in faults:
        key = (fault.path, _VALUES.sub("", fault.message)) if fault.line else ("", "", str(len(alike)))
        alike.setdefault(key, []).append(fault)
    result: list[Fault] = []
    for first, *others in alike.values():
        if len(others) < ALIKE:
            result += [first, *others]
            continue
        lines = list(dict.fromkeys(str(fault.line) for fault in others if fault.line != first.line))
        rest = f" and {len(lines) - NAMED} more" if len(lines) > NAMED else ""
        also = f"also lines {', '.join(lines[:NAMED])}{rest}" if lines else f"{len(others)} more like this"
        message = f"{first.message}; {also}"
        result.append(Fault(first.path, first.line, first.column, message))
    return result


class EthogramError(Exception):
    """The base of all exceptions of this package."""

    exit_code = 2


class BadInput(EthogramError):
    """Input was wrong. `faults` holds every fault; `more` counts those left out."""

    SHOWN = 50

    def __init__(self, faults: Iterable[Fault] | str, *, more: int = 0) -> None:
        self.faults = (Fault("", 0, 0, faults),) if isinstance(faults, str) else tuple(faults)
        self.more = more
        shown = self.faults[: self.SHOWN]
        lines = [str(fault) for fault in joined(shown)]
        hidden = len(self.faults) - len(shown) + more
        if hidden > 0:
            lines.append(f"... and {hidden} more")
        super().__init__("\n".join(lines))


class BadPattern(BadInput):
    """A pattern file cannot be used."""


class BadEvents(BadInput):
    """An event file cannot be used."""


class BadLabels(BadInput):
    """A file of labels cannot be used."""


class BadConfig(BadInput):
    """ethogram.yaml or an ETHOGRAM_ variable cannot be used."""


class BadUsage(BadInput):
    """A command or function was called wrongly."""


class NotFound(BadUsage):
    """A subject, source or detection is not in the store."""


class Conflict(EthogramError):
    """The same event id came twice with different content."""


class StoreFailed(EthogramError):
    """A store cannot be read or written now: it is locked, not reachable, full or damaged.

    Whoever asked did nothing wrong and may ask again. The message names the store, so it is for those who
    operate it: the service does not show it to clients.
    """


def install_command(extra: str) -> str:
    """The command that installs an extra; ethogram is on no package index, so in a clone."""
    return f"pip install -e '.[{extra}]' in the clone of ethogram"


class MissingExtra(EthogramError):
    """An optional package is needed and not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs the package '{package}': {install_command(extra)}")


class EvaluatorStopped(EthogramError):
    """An evaluator cannot go on: its key is not accepted, or its model does not exist.

    `spent` is what the attempt cost, None where no price is known.
    """

    def __init__(self, message: str, spent: float | None = 0.0) -> None:
        super().__init__(message)
        self.spent = spent


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """'; did you mean ...?' with the nearest known names, or '' where none is near.

    >>> did_you_mean("compasion", ["compassion", "deception"])
    "; did you mean 'compassion'?"
    >>> did_you_mean("xyz", ["compassion"])
    ''
    """
    near = _near(name, sorted(set(known)))
    if not near:
        return ""
    return f"; did you mean {' or '.join(repr(item) for item in near)}?"


def _near(name: str, known: Sequence[str]) -> list[str]:
    by_folded = {item.casefold().replace("-", "_"): item for item in known}
    folded = name[:100].casefold().replace("-", "_")
    if folded in by_folded:
        return [by_folded[folded]]
    import difflib  # only where something was misspelt

    close = difflib.get_close_matches(folded, by_folded, n=2, cutoff=0.72)
    # One that is nearly the word makes another that only resembles it a nuisance.
    apart = [difflib.SequenceMatcher(None, folded, item).ratio() for item in close]
    return [by_folded[item] for item, ratio in zip(close, apart, strict=True) if ratio > apart[0] - 0.1]
