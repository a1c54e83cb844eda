"""Whether an event is by a person or by the service they use."""

from __future__ import annotations

from .event import Event

SERVICE_ROLES = frozenset(("assistant", "system", "developer", "tool", "function"))
"""Roles of a service, whose events are not activity of a person."""


def is_by_service(event: Event) -> bool:
    """Whether an event has a role of a service, or `is_user` below 0.5.

    >>> is_by_service(Event.sample(attributes={"role": "tool"})), is_by_service(Event.sample())
    (True, False)
    """
    role = event.attributes.get("role")
    if isinstance(role, str) and role in SERVICE_ROLES:
        return True
    is_user = event.readings.get("is_user", event.attributes.get("is_user", 1))
    return isinstance(is_user, (int, float)) and is_user < 0.5
