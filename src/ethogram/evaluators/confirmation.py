"""The question whether a turn of a conversation asks for harm: its prompt, and the check of the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from ..data import DATA
from ..fields import Dollars, Ratio
from ..models.slotted import dataclass
from .base import Usage
from .prompt import fenced
from .response_parser import AnswerFault, is_ratio, read_object
from .rubric import closed_object

KEY = "asks_for_harm"
SCHEMA: Mapping[str, Any] = closed_object(fence={"type": "string"}, **{KEY: {"type": "number"}})


@dataclass(frozen=True, slots=True)
class Confirmation:
    """How sure the evaluator is that the turn asks for harm; `cost` is None where no price is known."""

    certainty: Ratio
    cost: Dollars = 0.0
    usage: Usage = Usage()


@lru_cache(maxsize=1)
def _system() -> str:
    return (DATA / "vocabulary" / "confirmation_prompt.txt").read_text("utf-8").removesuffix("\n")


def confirmation_prompt(turns: Sequence[tuple[str, str]], boundary: str) -> tuple[str, str]:
    """(system, user) for turns as (role, text), the one in question last."""
    *before, (_, last) = turns
    parts = [f"{k}. {role}\n{fenced(text, boundary)}" for k, (role, text) in enumerate(before, start=1)]
    if parts:
        parts.insert(0, f"## The turns before it, {len(before)}, oldest first")
    parts += ["## The last turn, of the person", fenced(last, boundary)]
    return _system(), "\n\n".join(parts)


def check_confirmation(raw: str, boundary: str) -> float | str:
    """The certainty in an answer, or why it cannot be used.

    >>> check_confirmation('{"fence": "c0ffee", "asks_for_harm": 0.9}', "c0ffee")
    0.9
    >>> check_confirmation('{"fence": "other", "asks_for_harm": 0.9}', "c0ffee")
    'the answer is for another message'
    """
    try:
        value = read_object(raw, boundary).get(KEY)
    except AnswerFault as fault:
        return str(fault)
    return float(value) + 0.0 if is_ratio(value) else f"{KEY} is no number from 0 to 1"
