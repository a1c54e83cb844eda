"""Audit: a line for every look at a person: when, who looked, what for, and whom, by the store's name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from ..errors import BadUsage
from ..models import moment
from .pseudonym import Pseudonym

WHATS = ("signals", "listed", "sweep", "export", "purge", "rotate", "refused", "unknown", "subject", "why")
"""What can be done. A store keeps the place in this list: it only ever grows at its end.

`listed`: a sweep told of this person; `refused`: a wrong key; `unknown`: asked about somebody not known.
"""
LONGEST = 500
"""Characters of who looked, and why."""
SHORT = 4
"""Ids of so many characters give nobody away as a part of a longer word."""


class Look(NamedTuple):
    """One line. `person` is None where it was nobody in particular, or somebody who was removed since."""

    at: float
    what: str
    person: bytes | None
    who: str
    why: str

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        from .records import UsageLook

        person = None if self.person is None else self.person.hex()
        at = moment(int(self.at * 1_000_000))
        return UsageLook(at=at, what=self.what, person=person, who=self.who, why=self.why).to_dict()


def check_words(text: str | None, what: str, subject: str | None = None) -> str:
    """A text that may stand in the audit; BadUsage where it is too long, or gives the person's id away."""
    said = "" if text is None else text
    if not isinstance(said, str) or len(said) > LONGEST:
        raise BadUsage(f"{what} is a text of at most {LONGEST} characters")
    if subject is not None:
        check_ids(said, what, [subject])
    return said.encode("utf-8", "replace").decode()


def check_ids(text: str, what: str, subjects: Iterable[str]) -> None:
    """Nothing, where a text has nobody's id in it, however it is written; else BadUsage."""
    words = text.casefold()
    for subject in subjects if words else ():
        if (
            isinstance(subject, str)
            and not isinstance(subject, Pseudonym)
            and _has(words, subject.strip().casefold())
        ):
            why = "which no file may; the audit has the name anyway"
            raise BadUsage(f"{what} contains the person's id, {why}")


def _has(words: str, subject: str) -> bool:
    """Whether an id stands in a text.

    >>> _has("a call of ann.b", "ann"), _has("the annual review", "ann"), _has("joanna77 wrote", "anna77")
    (True, False, True)
    """
    if len(subject) > SHORT:
        return subject in words
    return len(subject) > 2 and re.search(rf"(?<!\w){re.escape(subject)}(?!\w)", words) is not None
