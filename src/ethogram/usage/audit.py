"""Audit: a line for every look at a person: when, who looked, what for, and whom, by the store's name."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..errors import BadUsage
from ..records import format_time, moment
from .pseudonym import Pseudonym

WHATS = ("signals", "listed", "sweep", "export", "purge", "rotate", "refused", "unknown", "subject", "why")
"""What can be done. A store keeps the place in this list: it only ever grows at its end.

`listed`: a sweep told of this person; `refused`: a wrong key; `unknown`: asked about somebody not known.
"""
LONGEST = 500
"""Characters of who looked, and why."""


class Look(NamedTuple):
    """One line. `person` is None where it was nobody in particular, or somebody who was removed since."""

    at: float
    what: str
    person: bytes | None
    who: str
    why: str

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "record": "usage_look",
            "at": format_time(moment(int(self.at * 1_000_000))),
            "what": self.what,
            "person": None if self.person is None else self.person.hex(),
            "who": self.who,
            "why": self.why,
        }


def check_words(text: str | None, what: str, subject: str | None = None) -> str:
    """A text that may stand in the audit; BadUsage where it is too long, or gives the person's id away."""
    said = "" if text is None else text
    if not isinstance(said, str) or len(said) > LONGEST:
        raise BadUsage(f"{what} is a text of at most {LONGEST} characters")
    if subject and not isinstance(subject, Pseudonym) and len(subject) > 2 and subject in said:
        raise BadUsage(f"{what} contains the person's id, which no file may; the audit has the name anyway")
    return said.encode("utf-8", "replace").decode()
