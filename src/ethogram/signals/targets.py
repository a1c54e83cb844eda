"""first_contacts: how many subjects begin to act on one target within a short time."""

from __future__ import annotations

from collections.abc import Mapping

from ..models import Event, micros
from .base import Part, Range, register_parts, short
from .options import Options

WINDOW = 600_000_000
"""Microseconds: ten minutes."""
MOST_SUBJECTS = 64
"""Subjects remembered for one target: more are counted as so many."""

Known = tuple[int, int, tuple[tuple[str, str, int], ...]]
"""When the target was first acted on, how many subjects began since, and the newest of them: the kind of
event, the subject, and when it began."""


def measure_contacts(
    event: Event, state: Known | None, options: Options
) -> tuple[Mapping[str, float | str], Known | None]:
    """Who began to act on the target lately, where this subject is one of them."""
    if event.target is None or event.target == event.subject or not event.timed:
        return {}, state
    at, own = micros(event.at), (short(event.kind), short(event.subject))
    first, total, known = state or (at, 0, ())
    if all(item[:2] != own for item in known):
        total, known = total + 1, (*known, (*own, at))[-MOST_SUBJECTS:]
        state = (first, total, known)
    recent = [item for item in known if at - item[2] <= WINDOW]
    members = [who for kind, who, _ in recent if kind == own[0]]
    if own[1] not in members:
        return {}, state
    usual = (total - len(recent)) * WINDOW / max(WINDOW, at - first - WINDOW)
    counts = {"first_contacts": float(len(members)), "first_contacts_usual": usual}
    return {**counts, "first_contact_members": ", ".join(members)}, state


class _Contacts(Part):
    scope = "target"
    start: Known | None = None
    max_state_bytes = 12_000
    keeps = "first contacts"
    together = staticmethod(measure_contacts)


CONTACTS: tuple[tuple[str, Range, str], ...] = (
    (
        "first_contacts",
        (1, MOST_SUBJECTS),
        # Absent without a target or a time, and of those who began earlier.
        "How many subjects did such a thing to the target for the first time in the last ten minutes.",
    ),
    (
        "first_contacts_usual",
        (0, float("inf")),
        "How many subjects usually begin to act on the target within ten minutes; 0 where it is new.",
    ),
    ("first_contact_members", None, "The subjects of first_contacts, with commas."),
)
register_parts(_Contacts, CONTACTS, reads=("target",))
