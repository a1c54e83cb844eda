"""Roles: who wrote an event, the person or the service they use."""

from __future__ import annotations

from .event import Event

SERVICE_ROLES = frozenset(("assistant", "system", "developer", "tool", "function"))
"""Roles in which a service writes; what they do is no activity of a person."""


def is_by_service(event: Event) -> bool:
    """Whether an event is not the person's own: of a service's role, or said to be no user's.

    >>> is_by_service(Event.sample(attributes={"role": "tool"})), is_by_service(Event.sample())
    (True, False)
    """
    role = event.attributes.get("role")
    if isinstance(role, str) and role in SERVICE_ROLES:
        return True
    is_user = event.readings.get("is_user", event.attributes.get("is_user", 1))
    return isinstance(is_user, (int, float)) and is_user < 0.5
