"""Parse and validate a model's answer, and locate its quotes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from ..ingest.errors import BadLine
from ..ingest.streams import BLANK, parse
from ..models import TRAITS
from ..patterns.catalogue import indicator_catalogue
from ..patterns.library import SHIPPED
from .base import Found
from .prompt import MOST_TEXT
from .rubric import MOST_INDICATORS, SHORTEST_QUOTE

# Whether an answer names a pattern of the library, which an evaluator of one message must not.

_TITLE = re.compile(r"^title:\s*['\"]?(.*?)['\"]?\s*$", re.MULTILINE)
_NO_WORD = re.compile(r"[^a-z0-9]+")


def names_a_pattern(value: object) -> bool:
    """Whether a name or title of a shipped pattern stands anywhere in a value, keys included.

    The value must be bounded in depth by whoever asks.

    >>> names_a_pattern({"note": ["this is Love-Bombing"]}), names_a_pattern("kind words")
    (True, False)
    """
    if isinstance(value, str):
        words = f" {_words(value)} "
        return any(name in words for name in _names())
    if isinstance(value, Mapping):
        return any(map(names_a_pattern, (*value, *value.values())))
    return isinstance(value, list | tuple) and any(map(names_a_pattern, value))


@lru_cache(maxsize=1)
def _names() -> tuple[str, ...]:
    """Names and titles in plain words, with a space at either end."""
    texts: set[str] = set()
    for path in SHIPPED.rglob("*.yaml"):
        title = _TITLE.search(path.read_text("utf-8"))
        texts |= {_words(path.stem), _words(title[1] if title else "")}
    return tuple(f" {name} " for name in sorted(texts) if name)


def _words(text: str) -> str:
    return _NO_WORD.sub(" ", text.lower()).strip()


# Where in a message a quote stands that a model copied from it.
#
# White space of any kind and length is the same, and so are typographic and straight quotation marks; all
# else, case included, must be equal. What is found is a slice of the message as it was written.

_STRAIGHT = str.maketrans("‘’‚‛“”„‟", "''''\"\"\"\"")
_SPACES = re.compile(r"\s+")


class Quoted:
    """A message in which quotes are looked for: the part of it that an evaluator was shown."""

    def __init__(self, text: str) -> None:
        self._text = text[:MOST_TEXT]

    def find(self, quote: str) -> tuple[int, int] | None:
        """The first place of a quote, from and up to; None where it is not there, or is only white space.

        >>> Quoted("She said:  “act\\n  now”!").find('"act now"')
        (11, 22)
        """
        wanted = even(quote).strip(" ")
        if not wanted:
            return None
        at = self._even.find(wanted)
        if at < 0:
            return None
        return self._places[at], self._places[at + len(wanted) - 1] + 1

    @cached_property
    def _even(self) -> str:
        return even(self._text)

    @cached_property
    def _places(self) -> list[int]:
        """Where each character of the even text stands in the message."""
        places: list[int] = []
        at = 0
        for match in _SPACES.finditer(self._text):
            places += range(at, match.start() + 1)
            at = match.end()
        return [*places, *range(at, len(self._text))]


def even(text: str) -> str:
    """A text as it is compared.

    >>> even("‘So\\t it  goes’")
    "'So it goes'"
    """
    return _SPACES.sub(" ", text.translate(_STRAIGHT))


# The answer of a model, taken apart: what of it can be used, what was dropped, or why none of it can.
#
# A model is told what to answer, but a message may have told it something else. So nothing is believed: an
# answer counts where it is one object with the twelve numbers and repeats the fence word of its prompt, which
# the message cannot have known; an indicator counts where its quote is found in the message.
# No reason names anything that stands in the message or in the answer.

MOST_BYTES = 64 * 1024  # A longer answer is none
MOST_VALUES = 20_000
DEEPEST = 8

KEYS = ("fence", "traits", "indicators")
ENTRY_KEYS = ("id", "confidence", "quote")

PATTERN = "names a pattern"
EXTRA = "asked for by nobody"
SHAPELESS = "not an indicator"
UNKNOWN = "unknown indicator"
CONFIDENCE = "confidence not from 0 to 1"
NO_QUOTE = "no quote"
NOT_QUOTED = "quote not in the text"
TWICE = "given twice"
TOO_MANY = "too many"  # every reason why a part of an answer is dropped


@dataclass(frozen=True, slots=True)
class Checked:
    """A usable answer where `fault` is None: twelve numbers, and indicators whose words are in the text.

    Otherwise `fault` says why it is none, and there are no traits. `dropped` counts what was left out.
    """

    traits: Mapping[str, float] = field(default_factory=dict)
    indicators: tuple[Found, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    fault: str | None = None


def check_answer(raw: str | Mapping[str, Any], text: str, boundary: str | None = None) -> Checked:
    """What of a model's answer to the prompt for `text` can be used; never an exception.

    `raw` is the answer as text or already read. `boundary` is the one the prompt was made with; an answer
    that does not repeat it is for another message. Without one that is not looked at.

    >>> check_answer('{"traits": {}, "indicators": []}', "hello", "c0ffee12").fault
    'the answer is for another message'
    """
    try:
        answer = _read(raw)
        _check_fence(answer, boundary)
        traits = _traits(answer.get("traits"))
        listed = answer.get("indicators")
        if not isinstance(listed, list | tuple):
            raise _Fault("indicators is not a list")
    except _Fault as fault:
        return Checked(fault=str(fault))
    dropped: Counter[str] = Counter()
    _drop_others(answer, KEYS, dropped)
    founds = _indicators(listed, text, dropped)
    return Checked(traits, founds, dict(sorted(dropped.items())))


class _Fault(Exception):
    """Why nothing of an answer can be used."""


def _read(raw: object) -> Mapping[Any, Any]:
    value = _parsed(raw) if isinstance(raw, str) else raw
    if not isinstance(value, Mapping):
        raise _Fault("the answer is not one JSON object")
    _check_size(value)
    return value


def _parsed(raw: str) -> Any:
    if len(raw) > MOST_BYTES or len(raw.encode("utf-8", "replace")) > MOST_BYTES:
        raise _Fault("the answer is too long")
    try:
        return parse(_unwrapped(raw.strip(BLANK)))
    except BadLine as error:
        # Its words name what stands in the answer; only what kind of fault it is goes on.
        said = str(error)
        if "duplicate key" in said:
            raise _Fault("a key of the answer is given twice") from None
        raise _Fault("the answer is not one JSON object") from None


def _unwrapped(raw: str) -> str:
    """What is inside a code block, where all of it is one."""
    if not raw.startswith("```") or not raw.endswith("```") or len(raw) < 8:
        return raw
    opening, _, inside = raw[:-3].partition("\n")
    return inside.strip(BLANK) if opening.rstrip(BLANK) in ("```", "```json") else raw


def _check_size(value: object) -> None:
    """Bound what is looked at afterwards, whoever read the answer."""
    waiting: list[tuple[object, int]] = [(value, 1)]
    seen = 0
    while waiting:
        item, depth = waiting.pop()
        seen += 1
        if isinstance(item, Mapping):
            inner = list(item.values())
        elif isinstance(item, list | tuple):
            inner = list(item)
        else:
            continue
        if depth > DEEPEST:
            raise _Fault("the answer is nested too deep")
        if seen + len(waiting) + len(inner) > MOST_VALUES:
            raise _Fault("the answer is too long")
        waiting += [(each, depth + 1) for each in inner]


def _check_fence(answer: Mapping[Any, Any], boundary: str | None) -> None:
    if boundary is not None and answer.get("fence") != boundary:
        raise _Fault("the answer is for another message")


def _traits(value: object) -> dict[str, float]:
    if not isinstance(value, Mapping):
        raise _Fault("traits is not an object")
    missing = [name for name in TRAITS if name not in value]
    if missing:
        raise _Fault(f"traits are missing: {', '.join(missing)}")
    if len(value) != len(TRAITS):
        raise _Fault("traits has names that are no traits")
    wrong = [name for name in TRAITS if not _is_share(value[name])]
    if wrong:
        raise _Fault(f"traits are no numbers from 0 to 1: {', '.join(wrong)}")
    return {name: float(value[name]) + 0.0 for name in TRAITS}  # -0.0 becomes 0.0


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _indicators(listed: list[Any] | tuple[Any, ...], text: str, dropped: Counter[str]) -> tuple[Found, ...]:
    """The best of each, in the order given."""
    quoted = Quoted(text)
    best: dict[str, Found] = {}
    for item in listed:
        result = _indicator(item, quoted, dropped)
        if isinstance(result, str):
            dropped[result] += 1
        elif result.id in best:
            dropped[TWICE] += 1
            best[result.id] = max(best[result.id], result, key=lambda each: each.confidence)
        else:
            best[result.id] = result
    kept = sorted(best.values(), key=lambda each: -each.confidence)[:MOST_INDICATORS]
    if len(kept) < len(best):
        dropped[TOO_MANY] += len(best) - len(kept)
    names = {each.id for each in kept}
    return tuple(each for each in best.values() if each.id in names)


def _indicator(value: object, quoted: Quoted, dropped: Counter[str]) -> Found | str:
    """An indicator that can be used, or why not."""
    if not isinstance(value, Mapping):
        return PATTERN if names_a_pattern(value) else SHAPELESS
    _drop_others(value, ENTRY_KEYS, dropped)
    name, confidence, quote = (value.get(key) for key in ENTRY_KEYS)
    if not isinstance(name, str) or name not in indicator_catalogue():
        return PATTERN if names_a_pattern(name) else UNKNOWN
    if not _is_share(confidence):
        return CONFIDENCE
    if not isinstance(quote, str) or len(quote.strip()) < SHORTEST_QUOTE:
        return NO_QUOTE
    span = quoted.find(quote)
    if span is None:
        return NOT_QUOTED
    return Found(name, float(confidence) + 0.0, *span)  # type: ignore[arg-type]  # a number, as checked


def _drop_others(record: Mapping[Any, Any], known: tuple[str, ...], dropped: Counter[str]) -> None:
    for key, value in record.items():
        if key not in known:
            dropped[PATTERN if names_a_pattern([key, value]) else EXTRA] += 1
