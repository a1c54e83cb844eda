"""What a conversation is given, checked: names, who speaks, what, and when."""

from __future__ import annotations

from datetime import UTC, datetime

from ..errors import BadUsage

ROLES = {
    "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "model": "assistant",
    "system": "system", "developer": "system", "tool": "tool", "function": "tool",
}  # fmt: skip
"""Who may speak. System and tool turns are counted, and say nothing about the risk."""


def name_of(given: object, what: str) -> str:
    """The name of a conversation or a subject; BadUsage where it is none."""
    if not isinstance(given, str) or not given.strip() or len(given) > 512:
        raise BadUsage(f"{what} takes a name of 1 to 512 characters; here is {given!r:.80}")
    try:
        given.encode()
    except UnicodeEncodeError:
        raise BadUsage(f"{what} takes whole characters, no half of a pair; here is {given!r:.80}") from None
    return given


def text_of(given: object) -> str:
    """What was said; BadUsage where it is no text."""
    if not isinstance(given, str):
        raise BadUsage(f"a turn is text; here is {type(given).__name__}")
    return given


def role_of(given: object) -> str:
    """Who speaks: user, assistant, system or tool; BadUsage where it is nobody."""
    role = ROLES.get(given.lower()) if isinstance(given, str) else None
    if role is None:
        raise BadUsage(f"role is user, assistant, system or tool; here is {given!r:.40}")
    return role


def moment_of(given: object) -> datetime | None:
    """When it was said, in UTC; None where that is not known. BadUsage where it is no moment."""
    if given is None:
        return None
    if isinstance(given, datetime):
        if given.tzinfo is None:
            raise BadUsage(f"at needs a time zone; here is {given.isoformat()}")
        try:
            return given.astimezone(UTC)
        except OverflowError:
            raise BadUsage(f"at takes a time of the years 1 to 9999 in UTC; here is {given!r:.80}") from None
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        try:
            return datetime.fromtimestamp(given, UTC)
        except (OverflowError, OSError, ValueError):
            pass
    raise BadUsage(f"at takes a datetime with a time zone, or seconds since 1970; here is {given!r:.80}")
