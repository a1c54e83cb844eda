"""Field types of records: each a plain type with the limits and the wording of its JSON Schema.

`RecordStruct` is the base of records that only commands write; `InputStruct` of what comes in as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from .models.constants import RUNGS, STATUSES
from .models.detection import STATES
from .models.event import TRAITS
from .models.record import Record
from .models.severity import SEVERITIES
from .models.verdict import VERDICTS

UTC_TIME = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{6})?Z$"


def one_of(*values: str | None) -> Meta:
    """One of these words; None among them is null."""
    return Meta(extra_json_schema={"enum": list(values)})


Count = Annotated[int, Meta(ge=0)]
Ordinal = Annotated[int, Meta(ge=1)]
"""A position counted from 1."""
Place = Annotated[int, Meta(extra_json_schema={"type": ["integer", "null"], "minimum": 1})]
"""A line or column, 0 where it is not known; null in JSON then."""
Moment = Annotated[datetime, Meta(extra_json_schema={"type": ["string", "null"]})]
"""A time; null in the output of `analyze` where the source has no times."""
Amount = Annotated[float, Meta(ge=0)]
Dollars = Annotated[Amount | None, Meta(description="null: no price is known.")]
Ratio = Annotated[float, Meta(ge=0, le=1)]
FactorValue = Annotated[float, Meta(ge=1)]
Balance = Annotated[float, Meta(ge=-1, le=1)]
Name = Annotated[str, Meta(min_length=1)]
Value = float | str
"""A number or a category."""
Pair = Annotated[tuple[Any, ...], Meta(min_length=2, max_length=2)]

Severity = Annotated[str, one_of(*SEVERITIES)]
SeverityOrAny = Annotated[str, one_of("any", *SEVERITIES)]
RiskMode = Annotated[
    str,
    Meta(
        description="The highest severity of which a single new, certain detection gives at least this risk.",
        extra_json_schema={"enum": ["", *SEVERITIES]},
    ),
]
Role = Annotated[str, one_of("user", "assistant", "system", "tool")]
Rung = Annotated[str, one_of(*RUNGS)]
Urgency = Annotated[str, one_of("now", "soon", "later", "watch")]
State = Annotated[str, one_of(*STATES)]
Status = Annotated[str, one_of(*STATUSES)]
VerdictWord = Annotated[str, one_of(*VERDICTS)]
Trait = Annotated[str, one_of(*TRAITS)]
Tier = Annotated[str, one_of("standard", "focused", "deep", "deep_with_context")]
TraitScores = Annotated[
    Mapping[str, Ratio],
    Meta(
        extra_json_schema={
            "properties": {key: {"type": "number", "minimum": 0, "maximum": 1} for key in TRAITS},
            "additionalProperties": False,
        }
    ),
]
ScoredTier = Annotated[str, one_of("focused", "deep", "deep_with_context")]
UsageSeverity = Annotated[str, one_of("none", "low", "medium")]
UsageStatus = Annotated[str, one_of("ok", "insufficient")]


class RecordStruct(Record, msgspec.Struct):
    """Base of records that are made to be written."""


class InputStruct(msgspec.Struct):
    """Base of records that are read; fields with a default may be left out."""
