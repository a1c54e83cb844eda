"""The rubric: the system prompt of every evaluation, and the schema of its answer.

Its content is vocabulary/rubric.yaml and the definitions in vocabulary/indicators.csv.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ..data import DATA
from ..language.yaml_source import plain, read_yaml_file
from ..models import TRAITS
from ..models.slotted import dataclass
from ..patterns.catalogue import indicator_catalogue

LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)  # the anchors of a trait
MOST_INDICATORS = 40  # used of an answer, those of highest confidence
SHORTEST_QUOTE = 2
FILE = DATA / "vocabulary" / "rubric.yaml"

_SYSTEM = (DATA / "vocabulary" / "system_prompt.txt").read_text("utf-8").removesuffix("\n")


@dataclass(frozen=True, slots=True)
class Trait:
    """What a trait means, what it is not, and what a message does at each of LEVELS."""

    name: str
    means: str
    is_not: str
    anchors: tuple[str, ...]


@lru_cache(maxsize=1)
def load_rubric() -> Mapping[str, Trait]:
    """The traits in the order of TRAITS."""
    record = plain(read_yaml_file(FILE))
    return {
        name: Trait(name, trait["means"], trait["is_not"], tuple(trait["anchors"].values()))
        for name, trait in record.items()
    }


@lru_cache(maxsize=1)
def system_prompt() -> str:
    """The system prompt: the same for every message, so that the provider can cache it."""
    indicators: list[str] = []
    for name in TRAITS:
        own = (item for item in indicator_catalogue().values() if item.trait == name)
        indicators += [name, *(f"- {item.id}: {item.definition}" for item in own)]
    traits: list[str] = []
    for trait in load_rubric().values():
        traits.append(f"- {trait.name}: {trait.means} It is not: {trait.is_not}")
        traits += [f"  {level:g} {line}" for level, line in zip(LEVELS, trait.anchors, strict=True)]
    return _SYSTEM.format(traits="\n".join(traits), indicators="\n".join(indicators))


@lru_cache(maxsize=1)
def rubric_version() -> str:
    """Eight hex digits of the system prompt's digest.

    >>> len(rubric_version())
    8
    """
    return hashlib.sha256(system_prompt().encode()).hexdigest()[:8]


def answer_schema(*, ranges: bool = True) -> dict[str, Any]:
    """The JSON Schema of an answer.

    Every object requires all its keys and allows no others, as strict modes demand. Some of them refuse
    limits on numbers and lists: `ranges=False` omits these; `check_answer` checks them in any case.
    """
    share: dict[str, Any] = {"type": "number", **({"minimum": 0, "maximum": 1} if ranges else {})}
    entry = closed_object(
        id={"type": "string", "enum": list(indicator_catalogue())},
        confidence=share,
        quote={"type": "string", **({"minLength": SHORTEST_QUOTE} if ranges else {})},
    )
    return closed_object(
        fence={"type": "string"},
        indicators={"type": "array", "items": entry, **({"maxItems": MOST_INDICATORS} if ranges else {})},
        traits=closed_object(**dict.fromkeys(TRAITS, share)),
    )


def closed_object(**properties: Any) -> dict[str, Any]:
    """The schema of an object with all of these keys and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
