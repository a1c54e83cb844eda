"""Who did what through the service: judged, decided, exported, removed, made keys."""

from __future__ import annotations

import secrets
from datetime import datetime

from ..fields import Name, RecordStruct
from ..models import format_time, parse_time
from ..store.records import Store

NOTE = "audit"


class AuditLine(RecordStruct):
    """One line of the audit: when, who, what was done, and about which detection or key."""

    RECORD = "audit_line"

    at: datetime
    who: Name
    action: Name
    about: str


def note_action(store: Store, who: str, action: str, about: str, at: datetime) -> None:
    """Record that somebody did something. `about` names no person: they may be removed later."""
    record = {"at": format_time(at), "who": who, "action": action, "about": about}
    store.put_note(NOTE, f"{format_time(at)} {secrets.token_hex(4)}", record, at)


def actions_of(store: Store) -> list[AuditLine]:
    """The audit, the newest first."""
    return [
        AuditLine(parse_time(item["at"]), item["who"], item["action"], item["about"])
        for item in reversed(store.notes(NOTE).values())
    ]
