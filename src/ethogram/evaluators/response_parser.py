"""Parse and check a model's answer, and locate its quotes in the message.

A message may have told the model what to answer, so nothing is trusted: an answer counts where it is one
object with the twelve numbers and repeats the fence word of its prompt, which the message cannot know; an
indicator counts where its quote is in the message. No reason repeats words of the message or the answer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, TypeGuard

from ..ingest.errors import BadLine
from ..ingest.streams import BLANK, parse
from ..models import TRAITS
from ..models.slotted import dataclass, field
from ..patterns.catalogue import indicator_catalogue
from .base import IndicatorSpan
from .prompt import MOST_TEXT
from .rubric import MOST_INDICATORS, SHORTEST_QUOTE

_STRAIGHT = str.maketrans("‘’‚‛“”„‟", "''''\"\"\"\"")
_SPACES = re.compile(r"\s+")


class Quoted:
    """The part of a message that an evaluator saw, to locate quotes in."""

    def __init__(self, text: str) -> None:
        self._text = text[:MOST_TEXT]

    def find(self, quote: str) -> tuple[int, int] | None:
        """Start and end of the first occurrence; None where there is none, or the quote is blank.

        White space of any length and the kinds of quotation marks are equal; all else must match.

        >>> Quoted("She said:  “act\\n  now”!").find('"act now"')
        (11, 22)
        """
        wanted = even(quote).strip(" ")
        at = self._even.find(wanted) if wanted else -1
        return None if at < 0 else (self._offsets[at], self._offsets[at + len(wanted) - 1] + 1)

    @cached_property
    def _even(self) -> str:
        return even(self._text)

    @cached_property
    def _offsets(self) -> list[int]:
        """Offset in the message of each character of the even text."""
        offsets: list[int] = []
        at = 0
        for match in _SPACES.finditer(self._text):
            offsets += range(at, match.start() + 1)
            at = match.end()
        return [*offsets, *range(at, len(self._text))]


def even(text: str) -> str:
    """A text as quotes are compared: single spaces, straight quotation marks.

    >>> even("‘So\\t it  goes’")
    "'So it goes'"
    """
    return _SPACES.sub(" ", text.translate(_STRAIGHT))


MOST_BYTES = 64 * 1024
KEYS = ("fence", "traits", "indicators")
ENTRY_KEYS = ("id", "confidence", "quote")

# Why a part of an answer is dropped.
EXTRA = "asked for by nobody"
SHAPELESS = "not an indicator"
UNKNOWN = "unknown indicator"
CONFIDENCE = "confidence not from 0 to 1"
NO_QUOTE = "no quote"
NOT_QUOTED = "quote not in the text"
TWICE = "given twice"
TOO_MANY = "too many"


@dataclass(frozen=True, slots=True)
class Checked:
    """The usable part of an answer and counts of what was dropped; or `fault` where nothing is usable."""

    traits: Mapping[str, float] = field(default_factory=dict)
    indicators: tuple[IndicatorSpan, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    fault: str | None = None


def check_answer(raw: str | Mapping[str, Any], text: str, boundary: str | None = None) -> Checked:
    """Check a model's answer (text, or parsed) to the prompt for `text`; never raises.

    With `boundary`, the word of the prompt's fence lines, the answer must repeat it.

    >>> check_answer('{"traits": {}, "indicators": []}', "hello", "c0ffee12").fault
    'the answer is for another message'
    """
    try:
        answer = read_object(raw, boundary)
        traits = _traits(answer.get("traits"))
        listed = answer.get("indicators")
        if not isinstance(listed, list | tuple):
            raise AnswerFault("indicators is not a list")
    except AnswerFault as fault:
        return Checked(fault=str(fault))
    dropped: Counter[str] = Counter()
    dropped[EXTRA] += len(answer.keys() - set(KEYS))
    indicators = _indicators(listed, text, dropped)
    return Checked(traits, indicators, dict(sorted((+dropped).items())))


class AnswerFault(Exception):
    """Why nothing of an answer can be used."""


def read_object(raw: str | Mapping[str, Any], boundary: str | None) -> Mapping[str, Any]:
    """The object in an answer; AnswerFault where there is none or it is for another prompt."""
    answer = _parsed(raw) if isinstance(raw, str) else raw
    if not isinstance(answer, Mapping):
        raise AnswerFault("the answer is not one JSON object")
    if boundary is not None and answer.get("fence") != boundary:
        raise AnswerFault("the answer is for another message")
    return answer


def _parsed(raw: str) -> Any:
    if len(raw) > MOST_BYTES or len(raw.encode("utf-8", "replace")) > MOST_BYTES:
        raise AnswerFault("the answer is too long")
    try:
        return parse(_unwrapped(raw.strip(BLANK)))
    except BadLine as error:
        # The error's own words repeat parts of the answer; only its kind goes on.
        if "duplicate key" in str(error):
            raise AnswerFault("a key of the answer is given twice") from None
        raise AnswerFault("the answer is not one JSON object") from None


def _unwrapped(raw: str) -> str:
    """The content of a code block, where all of it is one."""
    if not raw.startswith("```") or not raw.endswith("```") or len(raw) < 8:
        return raw
    opening, _, inside = raw[:-3].partition("\n")
    return inside.strip(BLANK) if opening.rstrip(BLANK) in ("```", "```json") else raw


def _traits(value: object) -> dict[str, float]:
    if not isinstance(value, Mapping):
        raise AnswerFault("traits is not an object")
    if missing := [name for name in TRAITS if name not in value]:
        raise AnswerFault(f"traits are missing: {', '.join(missing)}")
    if len(value) != len(TRAITS):
        raise AnswerFault("traits has names that are no traits")
    if wrong := [name for name in TRAITS if not is_ratio(value[name])]:
        raise AnswerFault(f"traits are no numbers from 0 to 1: {', '.join(wrong)}")
    return {name: float(value[name]) + 0.0 for name in TRAITS}  # -0.0 becomes 0.0


def is_ratio(value: object) -> TypeGuard[float]:
    """Whether a value of an answer is a number from 0 to 1."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _indicators(listed: Sequence[Any], text: str, dropped: Counter[str]) -> tuple[IndicatorSpan, ...]:
    """The indicators in their order, each once with its highest confidence."""
    quoted = Quoted(text)
    best: dict[str, IndicatorSpan] = {}
    for item in listed:
        result = _indicator(item, quoted, dropped)
        if isinstance(result, str):
            dropped[result] += 1
        elif result.id in best:
            dropped[TWICE] += 1
            best[result.id] = max(best[result.id], result, key=lambda each: each.confidence)
        else:
            best[result.id] = result
    top = {each.id for each in sorted(best.values(), key=lambda each: -each.confidence)[:MOST_INDICATORS]}
    if len(top) < len(best):
        dropped[TOO_MANY] += len(best) - len(top)
    return tuple(each for each in best.values() if each.id in top)


def _indicator(value: object, quoted: Quoted, dropped: Counter[str]) -> IndicatorSpan | str:
    """A usable indicator, or why it is dropped."""
    if not isinstance(value, Mapping):
        return SHAPELESS
    dropped[EXTRA] += len(value.keys() - set(ENTRY_KEYS))
    name, confidence, quote = (value.get(key) for key in ENTRY_KEYS)
    if not isinstance(name, str) or name not in indicator_catalogue():
        return UNKNOWN
    if not is_ratio(confidence):
        return CONFIDENCE
    if not isinstance(quote, str) or len(quote.strip()) < SHORTEST_QUOTE:
        return NO_QUOTE
    span = quoted.find(quote)
    return NOT_QUOTED if span is None else IndicatorSpan(name, float(confidence) + 0.0, *span)
