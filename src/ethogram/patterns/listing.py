"""Records of the commands that list and check patterns, signals, settings and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec

from ..errors import Fault
from ..fields import Amount, Count, Name, Ratio, RecordStruct, Severity, Status, one_of
from ..models.constants import EVIDENCE


class PatternWritten(RecordStruct):
    """A pattern file that `patterns new` wrote."""

    RECORD = "written"

    pattern: Name
    path: str


class PatternRow(RecordStruct):
    """A pattern of the library, in a line."""

    RECORD = "pattern"
    OMITTED = ("pack",)

    name: Name
    status: Status
    on: bool
    """Whether it is matched unless the command says otherwise."""
    evidence: Annotated[str, one_of(*EVIDENCE)] | None
    """`unproven`: on real data no more detections than in shuffled histories, or none at all."""
    shape: Name
    severities: Sequence[Severity]
    title: str
    path: str
    pack: str | None = None
    """The installed pack it belongs to, if any, with `(changed)` where the file is not as installed, and
    `(incomplete)` where another file of the pack is gone."""


class PackRemoved(RecordStruct):
    """A pack that `patterns remove` removed."""

    RECORD = "pack_removed"

    name: Name
    path: str
    patterns: Count


class Parameter(RecordStruct):
    """A parameter of a pattern, and what set it."""

    name: Name
    value: float
    in_file: float
    origin: str = msgspec.field(name="from")
    """A settings file with its line, or the pattern file."""


class Stories(RecordStruct):
    """The examples of a pattern."""

    fires: list[str]
    quiet: list[str]


class PatternDetail(RecordStruct):
    """Everything about a pattern, with its compiled programs."""

    RECORD = "pattern"
    FLAT = ("row",)

    row: PatternRow
    shape_hash: str
    file_hash: str
    versions: Mapping[str, str]
    id: str | None
    author: str | None
    date: str | None
    modified: str | None
    description: str | None
    triage: str | None
    false_positives: Sequence[str]
    misses: Sequence[str]
    references: Sequence[str]
    tags: Sequence[str]
    related: Sequence[str]
    cause: str
    confirms: Sequence[str]
    group_by: Sequence[str]
    parameters: list[Parameter]
    meaning: Mapping[str, Any]
    explanation: str | None
    recommendation: str | None
    examples: Stories
    programs: list[Mapping[str, Any]]


class LintWarning(RecordStruct):
    """Something in a pattern file that could be better."""

    RECORD = "warning"
    FLAT = ("place",)

    place: Fault


class LintSummary(RecordStruct):
    """How many patterns were checked: the last line of `patterns lint`."""

    RECORD = "summary"

    patterns: Count
    warnings: Count


class LockChange(RecordStruct):
    """How a pattern differs from its entry in the lock."""

    pattern: Name
    change: str
    """is new, is gone, meaning changed, or only words changed."""


class Lock(RecordStruct):
    """The lock of a folder of patterns, and what changed since it was written."""

    RECORD = "lock"

    path: str
    patterns: Count
    changes: list[LockChange]


class SignalRow(RecordStruct):
    """A signal that events can have."""

    RECORD = "signal"

    name: Name
    kind: str
    range: list[Any] | None
    """Lowest and highest number, null for no end; or the categories; null for anything."""
    cost: str
    version: int | None
    description: str


class IndicatorRow(RecordStruct):
    """An indicator of the catalogue."""

    RECORD = "indicator"

    name: Name
    trait: str
    dimension: str
    polarity: str
    description: str
    definition: str


class AttributeRow(RecordStruct):
    """An attribute that events can have."""

    RECORD = "attribute"

    name: Name
    kind: str
    description: str


class TableRow(RecordStruct):
    """A table that patterns can look up, with its numbers."""

    RECORD = "table"

    name: Name
    entries: Count
    values: Mapping[str, float]


class CategoryRow(RecordStruct):
    """A category of the lexicon, and how often its phrases were right."""

    RECORD = "category"

    name: Name
    trait: str
    language: str
    description: str
    indicator: str | None
    phrases: Count
    hits_per_10000: Amount
    right: Count
    sampled: Count
    lexicon: str


class EvaluatorRow(RecordStruct):
    """An evaluator, and what it needs."""

    RECORD = "evaluator"

    name: Name
    needs: str
    description: str


class SampleRow(RecordStruct):
    """What a signal or an evaluator says of one sample text."""

    RECORD = "sample"

    name: Name
    number: Count
    """Of the text, from 1."""
    value: float | str | None = None
    """The reading of a signal; null where it is not measured."""
    scores: dict[str, Ratio] | None = None
    """Traits and indicators by an evaluator."""
    reason: str | None = None
    """Why an evaluator gave no answer."""


class Prompt(RecordStruct):
    """The prompt an evaluator would be given for one message."""

    RECORD = "prompt"

    id: str
    system: str
    user: str


class FileWritten(RecordStruct):
    """A file that a command wrote."""

    RECORD = "file"

    path: str


class SettingRow(RecordStruct):
    """A setting, its value and what set it."""

    RECORD = "setting"

    key: Name
    value: Any
    origin: str
    """What set it: a file with its line, the environment, or the default."""


class ConfigPath(RecordStruct):
    """Which settings file is read."""

    RECORD = "config"

    path: str | None
    trusted: bool | None
    user: str | None
    """The user's own settings file, where there is one."""


class TrustRow(RecordStruct):
    """A trusted file, and whether it is still as it was reviewed."""

    RECORD = "trust"

    path: Name
    status: Annotated[str, one_of("trusted", "changed", "revoked")]
    at: str | None
    digest: str | None
