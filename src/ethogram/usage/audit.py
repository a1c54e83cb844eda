"""Audit: one line for every look at a person: when, who looked, what for, and at whom (by pseudonym)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..errors import BadUsage
from .pseudonym import Pseudonym

MAX_LENGTH = 500
"""Characters of who looked, and why."""
SHORT = 4
"""An id of at most so many characters counts only as a whole word."""


def check_words(text: str | None, what: str, subject: str | None = None) -> str:
    """Return a text for the audit; BadUsage where it is too long or contains the person's id."""
    words = "" if text is None else text
    if not isinstance(words, str) or len(words) > MAX_LENGTH:
        raise BadUsage(f"{what} is a text of at most {MAX_LENGTH} characters")
    if subject is not None:
        check_ids(words, what, [subject])
    return words.encode("utf-8", "replace").decode()


def check_ids(text: str, what: str, subjects: Iterable[str]) -> None:
    """Raise BadUsage where a text contains the id of one of these people, in any case."""
    words = text.casefold()
    for subject in subjects if words else ():
        if isinstance(subject, Pseudonym) or not isinstance(subject, str):
            continue
        if _contains(words, subject.strip().casefold()):
            raise BadUsage(f"{what} contains the person's id: leave it out, the audit has their pseudonym")


def _contains(words: str, subject: str) -> bool:
    """Whether a text contains an id.

    >>> _contains("a call of ann.b", "ann"), _contains("annual fee", "ann"), _contains("joanna77", "anna77")
    (True, False, True)
    """
    if len(subject) > SHORT:
        return subject in words
    return len(subject) > 2 and re.search(rf"(?<!\w){re.escape(subject)}(?!\w)", words) is not None
