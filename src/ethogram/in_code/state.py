"""What a pattern in code keeps and tells, as plain data of a bounded size."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from ..errors import EthogramError
from ..library.in_code import Match
from ..records import Event, micros

MOST_STATE = 64 * 1024
"""Characters of JSON that the state of one history may take."""
MOST_TEXT = 200
MOST_ITEMS = 20
DEEPEST = 4
MOST_EVIDENCE = 20


def frozen(value: Any) -> Any:
    """Plain data as it is after a restart: lists are tuples, keys are texts. TypeError for anything else.

    >>> frozen({"a": [1, (2, None)]})
    {'a': (1, (2, None))}
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, (list, tuple)):
        return tuple(frozen(one) for one in value)
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: frozen(one) for key, one in value.items()}
    raise TypeError(f"{value!r:.60} is no plain JSON data")


def moved(name: str, state: Any, event: Event) -> Any:
    """The state that a pattern returned, as it is kept; an error that names it where it cannot be."""
    try:
        plain = frozen(state)
    except (TypeError, RecursionError) as error:
        said = str(error) if isinstance(error, TypeError) else "it is nested too deep"
        raise EthogramError(f"pattern {name!r}, state after event {event.id!r:.80}: {said}") from None
    if (size := length(plain)) > MOST_STATE:
        said = f"{size:,} characters of JSON; keep it within {MOST_STATE:,}"
        raise EthogramError(f"pattern {name!r}, state after event {event.id!r:.80}: {said}")
    return plain


def length(plain: Any) -> int:
    """About how many characters plain data takes as JSON.

    >>> length({"a": (1, "bc")})
    16
    """
    if isinstance(plain, str):
        return len(plain) + 2
    if isinstance(plain, tuple):
        return 2 + sum(length(one) + 1 for one in plain)
    if isinstance(plain, dict):
        return 2 + sum(len(key) + 4 + length(one) for key, one in plain.items())
    return len(str(plain)) if isinstance(plain, (int, float)) else 4


def told_text(match: Match, needs: tuple[str, ...]) -> str:
    """What a match tells as one text of JSON: details, evidence and explanation, each of a bounded size."""
    evidence = [
        [one.id, micros(one.at), {name: one.readings[name] for name in needs if name in one.readings}]
        for one in list(match.evidence)[-MOST_EVIDENCE:]
    ]
    said = {
        "details": cut(match.details),
        "evidence": evidence,
        "explanation": match.explanation[: 2 * MOST_TEXT],
    }
    return json.dumps(said, sort_keys=True)


def cut(value: Any, depth: int = 0) -> Any:
    """Details of a bounded size: long texts and lists are cut, and what lies too deep is left out.

    A set is told in order, a number that is none as None; TypeError for what is no plain data.

    >>> cut({"a": ["x" * 300] * 30})["a"] == ["x" * 200] * 20
    True
    """
    if isinstance(value, str):
        return value[:MOST_TEXT]
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int)):
        return value
    if depth >= DEEPEST:
        return None
    if isinstance(value, Mapping):
        some = list(value.items())[:MOST_ITEMS]
        if wrong := [name for name, _ in some if not isinstance(name, (str, int, float))]:
            raise TypeError(f"a key is a text, not {wrong[0]!r:.60}")
        return {str(name)[:MOST_TEXT]: cut(one, depth + 1) for name, one in some}
    if isinstance(value, (list, tuple)):
        return [cut(one, depth + 1) for one in value[:MOST_ITEMS]]
    if isinstance(value, (set, frozenset)):
        return [cut(one, depth + 1) for one in sorted(value, key=str)[:MOST_ITEMS]]
    raise TypeError(f"{value!r:.60} is no plain JSON data")
