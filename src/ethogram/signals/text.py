"""Text signals: length, question, lexicon flags, copies."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from ..lexicon.lexicon import read_categories
from ..models import TRAITS, Event
from .base import MAX_TEXTS, Part, Range, Unmeasured, register_parts, short, signal
from .options import Options

if TYPE_CHECKING:
    from ..lexicon.records import Scan
    from .base import EventFields

Values = Mapping[str, Sequence[Any]]

# length: how much was written.


def lengths(events: EventFields, names: Set[str], known: Values) -> Values:
    """The length of each event."""
    return {"length": [_length(*fields) for fields in events.values("text", "attributes")]}


@signal("length", range=(0, math.inf), reads=("text", "attributes"), at_once=lengths)
def length(event: Event) -> float | None:
    """Characters of the text, or the attribute `length` where the text itself was not kept.

    Absent without either, which is not 0: nothing written is a text of no characters.

    >>> length(Event.sample(text="Hello!")), length(Event.sample(attributes={"length": 240}))
    (6.0, 240.0)
    """
    return _length(event.text, event.attributes)


def _length(text: str | None, attributes: Mapping[str, Any]) -> float | None:
    if text is not None:
        return float(len(text))
    value = attributes.get("length")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value < 1e300 else None


# A '?' inside a word is an address (page?id=1), not a question. Scripts that write without spaces
# have question marks of their own.
_MARK = re.compile(r"\?(?![\w=&%/])|[？؟⁇⁈⁉՞፧]")


@signal("question", range=(0, 1), reads=("text",))
def question(event: Event) -> float | None:
    """1.0 where the text has a question mark in it, else 0.0; absent without text.

    >>> question(Event.sample(text="Why? Tell me.")), question(Event.sample(text="See x.org/a?b=1"))
    (1.0, 0.0)
    """
    return None if event.text is None else float(_MARK.search(event.text) is not None)


# flags: phrases of the lexicon in a message, in total, by trait and by category.

_ANY_NUMBER = (0, math.inf)
FLAGS: tuple[tuple[str, Range, str], ...] = (
    (
        "flags",
        _ANY_NUMBER,
        "How many phrases of the lexicon the text holds, of any trait, quoted and denied ones left out.",
    ),
    (
        "flags_negative",
        _ANY_NUMBER,
        "How many phrases of negative traits and of hard constraints the text holds.",
    ),
    (
        "flags_hard_constraint",
        (0, 1),
        "1.0 where a phrase of a hard constraint is there: a reason to look, never a finding.",
    ),
    *(
        (f"flags_{name}", _ANY_NUMBER, f"How many phrases that hint at {name} the text holds.")
        for name in TRAITS
    ),
    *(
        (f"flags_{item.name}", _ANY_NUMBER, f"Phrases of the category {item.name}.")
        for item in read_categories()
    ),
)
"""Name, range and meaning of each."""
TOTALS = {"flags", "flags_negative"}
"""Those that count flags of several traits."""
_NO_FLAGS: Mapping[str, float] = {name: 0.0 for name, _, _ in FLAGS}
_UNKNOWN = dict.fromkeys(_NO_FLAGS, Unmeasured("the text is in no language that the lexicon knows"))


def measure_flags(
    event: Event, state: None, options: Options
) -> tuple[Mapping[str, float | Unmeasured], None]:
    """The phrases of the lexicon in the text, counted in total, by trait and by category."""
    # Repeated texts of a subject count once.
    if event.text is None or event.readings.get("copy") == 1.0:
        return {}, None
    # Imported here, so that other signals do not load the lexicon.
    from ..lexicon.scanner import scan

    return _counts(scan(event.text)), None


def all_flags(events: EventFields, names: Set[str], known: Values) -> Values:
    """The phrases of the lexicon in each text."""
    from ..lexicon.scanner import scan_many

    texts = [
        None if copy == 1.0 else text for text, copy in zip(events.values("text"), known["copy"], strict=True)
    ]
    different = [text for text in dict.fromkeys(texts) if text is not None]
    of = None if names & TOTALS else frozenset(name.removeprefix("flags_") for name in names)
    counts: dict[str | None, Mapping[str, float | Unmeasured]] = dict(
        zip(different, map(_counts, scan_many(different, of)), strict=True)
    )
    counts[None] = {}
    return {name: [counts[text].get(name) for text in texts] for name in names}


def _counts(result: Scan) -> Mapping[str, float | Unmeasured]:
    if not result.measured:
        return _UNKNOWN
    if not result.flags:
        return _NO_FLAGS
    by_name = {**(result.by_trait or {}), **(result.by_category or {})}
    values = {**_NO_FLAGS, **{f"flags_{name}": float(count) for name, count in by_name.items()}}
    values["flags"], values["flags_negative"] = float(result.count or 0), float(result.negative or 0)
    values["flags_hard_constraint"] = float(bool(result.hard_constraint))
    return values


class _Flags(Part):
    keeps = "flags"
    together = staticmethod(measure_flags)


register_parts(_Flags, FLAGS, needs=("copy",), reads=("text",), at_once=all_flags)


# copied_by and copy: the same text again, from others and from the subject itself.

MOST_SUBJECTS = 64
"""Subjects remembered for one text: copies by more are counted as so many."""

Known = tuple[str, ...]
"""The subjects who wrote the text, the newest last; long names are digests."""


def is_prompt(attributes: Mapping[str, Any]) -> bool:
    """Return whether a program is told something: a system prompt, or the task of an agent's run.

    Runs of one agent share these, which no person or account wrote.

    >>> is_prompt({"role": "system"}), is_prompt({"role": "user", "task_prompt": True}), is_prompt({})
    (True, True, False)
    """
    return attributes.get("role") in ("system", "developer") or attributes.get("task_prompt") is True


def measure_copies(event: Event, state: Known, options: Options) -> tuple[Mapping[str, float | str], Known]:
    """How many subjects wrote the text so far, whether this one did before, and all who did."""
    if is_prompt(event.attributes):
        return {}, state
    known = _with_writer(state, short(event.subject))
    counts = {"copied_by": float(len(known)), "copy": float(known is state)}
    return {**counts, "copied_members": _names(known)}, known


def _names(known: Known) -> str:
    return ", ".join(known)


def all_copies(events: EventFields, names: Set[str], known: Values) -> Values:
    """The same of each event."""
    from ..lexicon.near_duplicates import marks

    held: dict[tuple[str, Hashable], Known] = {}
    copied_by: list[float | None] = []
    copy: list[float | None] = []
    members: list[str | None] = []
    texts = (
        None if is_prompt(attributes) else text for text, attributes in events.values("text", "attributes")
    )
    for (source, subject), mark in zip(events.values("source", "subject"), marks(texts), strict=True):
        if mark is None:
            copied_by.append(None)
            copy.append(None)
            members.append(None)
            continue
        before = held.pop((source, mark), ())
        held[source, mark] = after = _with_writer(before, short(subject))
        if len(held) > MAX_TEXTS:
            del held[next(iter(held))]
        copied_by.append(float(len(after)))
        copy.append(float(after is before))
        members.append(_names(after) if "copied_members" in names else None)
    return {"copied_by": copied_by, "copy": copy, "copied_members": members}


def _with_writer(known: Known, writer: str) -> Known:
    """All who wrote a text, with this one; the same object where it is among them."""
    return known if writer in known else (*known, writer)[-MOST_SUBJECTS:]


class _Copies(Part):
    scope = "text"
    start: Known = ()
    max_state_bytes = 5000
    keeps = "copies"
    together = staticmethod(measure_copies)


COPIES: tuple[tuple[str, Range, str], ...] = (
    (
        "copied_by",
        (1, MOST_SUBJECTS),
        # Absent where there is no text, or too little to be told apart, and of prompts. Case, punctuation,
        # numbers, addresses and names after @ do not make another text.
        "How many different subjects have posted the same text so far, this one included.",
    ),
    ("copy", (0, 1), "1.0 where the subject has posted the same text before."),
    ("copied_members", None, "The subjects who have posted the same text so far, with commas."),
)
register_parts(_Copies, COPIES, version=3, reads=("text",), at_once=all_copies)
