"""`ethogram store history|who|alike|early|groups`: questions to a store."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from ..errors import BadUsage
from ..report.rendering import rendered
from ..store import open_store
from . import options as o
from .output import emit


def history(
    store: o.StoreUrl,
    name: Annotated[str, o.arg("Sum up this subject.", "SUBJECT")],
    source: o.FromSource = "",
    as_of: Annotated[str, o.opt("Leave out what came after this time.", "--as-of", metavar="TIME")] = "",
    as_json: o.AsJson = False,
) -> None:
    """Sum up a subject's history as an evaluator would see it."""
    from ..app.questions import history_summary
    from ..app.subject import find_subject

    with open_store(store) as opened:
        o.note_all(opened, "history")
        who = find_subject(opened, name, source or None).who
        summary = history_summary(opened, who, o.moment(as_of, "--as-of"))
    emit([summary], rendered("history", summary=summary), as_json=as_json)


def who(
    store: o.StoreUrl,
    subject: Annotated[str, o.opt("Select what this subject did.", metavar="NAME")] = "",
    target: Annotated[str, o.opt("Select what was done to this target.", metavar="NAME")] = "",
    as_json: o.AsJson = False,
) -> None:
    """Show who did what to whom."""
    from ..app.questions import who as answer

    with open_store(store) as opened:
        o.note_all(opened, "who")
        ties = answer(opened, subject or None, target or None)
    emit(ties, rendered("who", ties=ties, subject=subject, target=target), as_json=as_json)


def alike(
    store: o.StoreUrl,
    name: Annotated[str, o.arg("Compare with this subject.", "SUBJECT")],
    source: o.FromSource = "",
    as_json: o.AsJson = False,
) -> None:
    """Find subjects that show the same indicators as one."""
    from ..app.questions import alike as answer
    from ..app.subject import find_subject

    with open_store(store) as opened:
        o.note_all(opened, "alike")
        others = answer(opened, find_subject(opened, name, source or None).who)
    emit(others, rendered("alike", subject=name, others=others), as_json=as_json)


def early(
    store: o.StoreUrl,
    pattern: Annotated[str, o.arg("Look before detections of this pattern.", "PATTERN")],
    as_json: o.AsJson = False,
) -> None:
    """Find indicators that come before a pattern is detected."""
    from ..app.questions import early as answer

    with open_store(store) as opened:
        o.note_all(opened, "early")
        signs = answer(opened, pattern)
    emit(signs, rendered("early", pattern=pattern, signs=signs), as_json=as_json)


def groups(
    store: o.StoreUrl,
    by: Annotated[str, o.opt("Compare pattern, target or text (default: all).", metavar="WHAT")] = "",
    within: Annotated[str, o.opt("Allow this time between two acts.", metavar="DURATION")] = "10m",
    at_least: Annotated[int, o.opt("Require this many subjects.", metavar="N", min=2)] = 2,
    as_json: o.AsJson = False,
) -> None:
    """Find subjects who do the same close in time."""
    from ..app.questions import SHARED_BY
    from ..app.questions import groups as answer

    if by and by not in SHARED_BY:
        raise BadUsage(f"invalid --by {by!r:.40}: expected {', '.join(SHARED_BY)}")
    close = timedelta(seconds=o.seconds_of(within, "--within") or 0)
    with open_store(store) as opened:
        o.note_all(opened, "groups")
        together = answer(opened, by=[by] if by else SHARED_BY, within=close, at_least=at_least)
    emit(together, rendered("groups", groups=together), as_json=as_json)
