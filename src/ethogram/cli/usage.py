"""`ethogram usage`: record how people use a service, without their words, and report what changed."""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Sequence
from dataclasses import fields
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from ..errors import BadUsage
from ..files import sqlite
from ..models import Event, format_time, moment
from ..report.rendering import rendered
from ..report.wording import plural, printable
from ..store import open_store
from ..usage import fuse
from ..usage.clock import DAY
from ..usage.cohort import find_cohort, format_cohort
from ..usage.event import arguments_of, make_event
from ..usage.helpline import find_helpline
from ..usage.pseudonym import VARIABLE, find_keys, new_keys, read_keys, write_keys
from ..usage.records import (
    PeopleByLevel,
    Removed,
    UsageCohort,
    UsageKey,
    UsageRecorded,
    UsageSignalsRecord,
    UsageSweep,
)
from ..usage.rotation import rotate
from ..usage.settings import Settings as Limits
from ..usage.signals import Looked
from ..usage.tracker import UsageTracker
from . import options as o
from .errors import warn
from .output import Progress, Target, emit, flush, write_json, write_line, write_lines, write_text

if TYPE_CHECKING:
    from ..config import Settings


SEVERITIES = ("low", "medium")
OLD = 7 * DAY
"""Seconds without an event of anybody after which data are old rather than a service quiet."""
Region = Annotated[str, o.opt("Choose the helpline of this region: DE, US-CA.", "--region", metavar="CODE")]


def open_tracker(store: str, key: str, who: str, **how: Any) -> UsageTracker:
    """The tracker of an existing file, or with `create=True` of a new one."""
    path, how = o.path_of(store), {"create": False, **how}
    # For a command no key is made unasked.
    _, key_file = find_keys(key or None, has_store=not sqlite.is_new(path))
    return UsageTracker(path, key=key_file, who=who or o.user_name(), **how)


def measured_by(settings: Settings) -> dict[str, Any]:
    """How a tracker measures, by `usage` and `time_zone` of the settings."""
    known = {field.name for field in fields(Limits)}
    limits = {name: value for name, value in settings.usage.items() if name in known}
    return {
        "cohort": find_cohort(settings.usage["cohort"]),
        "settings": Limits(**limits, inactivity=settings.session_inactivity // 1_000_000),
        "time_zone": settings.time_zone,
    }


# --- record ---------------------------------------------------------------------------------


def record(
    options: Annotated[o.InputOptions, "paths! as_json skip_bad config"],
    store: o.UsageStore,
    key: o.KeyFile = "",
    keep: Annotated[str, o.opt("Store events, or aggregates alone (new stores).", metavar="WHAT")] = "",
    retention: Annotated[str, o.opt("Delete after this long, like 90d.", metavar="DURATION")] = "",
    time_zone: Annotated[str, o.opt("Use this time zone where events name none.", metavar="ZONE")] = "",
) -> None:
    """Record the events of files; all of them or none.

    After an interruption, the same command continues where it stopped.
    """
    from ..app.importing import known_kinds
    from ..ingest import BadLine

    how: dict[str, Any] = {
        "keep": keep or None,
        "retention": o.seconds_of(retention, "--retention"),
        "time_zone": time_zone or None,
        "max_future": None,  # times were checked line by line
    }
    if how["retention"] is not None and not 86_400 <= how["retention"] < 1e10:
        raise BadUsage(f"invalid --retention {retention!r:.40}: expected one day or more, like 90d")
    settings, progress = options.settings(), Progress()
    keys = new_keys()

    def check(event: Event) -> None:  # times apart
        try:
            make_event(keys, math.inf, **arguments_of(event))
        except BadUsage as error:
            raise BadLine(str(error)) from None

    # Read first: where a line is bad, no new store is made either.
    batch = options.read(known_kinds(settings), settings, progress, check=check)
    events = [arguments_of(event) for event in batch.events]
    digest = hashlib.sha256()  # so that the same batch is known again
    for event in events:
        digest.update(repr(sorted(event.items())).encode("utf-8", "surrogatepass"))
    with open_tracker(store, key, "", create=True, **how) as tracker:
        oldest = tracker.retained_from(events)
        progress = Progress()
        try:
            added, _ = tracker.record_all(
                events, digest.hexdigest(), lambda done, of: progress.count(done, of, "recording")
            )
        finally:
            progress.stop()
        gone, retention_days = tracker.tidy(), tracker.info()["retention_days"]
        newest = tracker.newest
    own = [event for event in events if event["is_user"] or event["ended_abruptly"]]
    times = [event["at"].timestamp() for event in own]
    too_old = sum(int(at) < oldest for at in times)
    known = len(own) - too_old - added + batch.repeated
    done = {
        "added": added,
        "known": known,
        "not_by_person": len(events) - len(own),
        "bad": batch.bad_count,
        "too_old": too_old,
    }
    removed = Removed(gone.people, gone.events)
    days = math.ceil((newest - min(times, default=newest)) / DAY) + 1
    recorded = UsageRecorded(store=store, **done, removed=removed)
    how = {"removed": removed, "retention_days": retention_days, "days": days}
    emit([recorded], rendered("usage_record", done=recorded, **how), as_json=options.as_json)


# --- signals and sweep ----------------------------------------------------------------------


def signals(
    subject: Annotated[str, o.arg("Name the person.", "SUBJECT")],
    store: o.UsageStore,
    as_of: o.AsOfNow = "",
    look: o.LookOptions = o.NO_LOOK,
    region: Region = "",
    score: Annotated[
        list[str], o.opt("Add a content score, like text=0.4.", "--score", metavar="NAME=NUMBER")
    ] = o.NONE,
    crisis: Annotated[
        float | None, o.opt("Set the confidence in an explicit crisis, 0 to 1.", "--crisis", metavar="NUMBER")
    ] = None,
    config: o.Config = "",
    as_json: o.AsJson = False,
) -> None:
    """Show what is unusual about a person against their own habit."""
    at = o.moment(as_of, "--as-of") or o.now().replace(microsecond=0)
    settings = o.load_config(config).settings
    usage, scores = settings.usage, parse_scores(score)
    line = find_helpline(usage["helplines"], region or usage["region"])
    how: dict[str, Any] = {"weights": usage["weights"], "explicit_crisis": crisis}
    is_fused = bool(score) or crisis is not None
    if is_fused:
        fuse(scores, **how)  # a bad score is reported before anybody is looked at
    with open_tracker(store, look.key, look.who, **measured_by(settings)) as tracker:
        result = tracker.signals(look.person(subject), at, look.why or None)
    whole = fuse({**scores, "behaviour": result.for_fusion}, **how) if is_fused else None
    if as_json:
        values = result.values()
        write_json(UsageSignalsRecord(subject=subject, as_of=at, values=values, fused=whole, helpline=line))
        return
    how = {"subject": subject, "store": store}
    write_lines(rendered("usage_signals", result=result, fused=whole, helpline=line, **how))


def parse_scores(texts: Sequence[str]) -> dict[str, float]:
    """Scores by name, from texts such as `text=0.4`.

    >>> parse_scores(["text=0.4", "voice=1"])
    {'text': 0.4, 'voice': 1.0}
    """
    scores: dict[str, float] = {}
    for text in texts:
        name, _, number = text.partition("=")
        try:
            scores[name.strip()] = float(number)
        except ValueError:
            raise BadUsage(f"invalid --score {text!r:.60}: expected NAME=NUMBER, like text=0.4") from None
    if "behaviour" in scores:
        raise BadUsage("invalid --score behaviour: it is computed here; expected other scores")
    return scores


def sweep(
    store: o.UsageStore,
    key: o.KeyFile = "",
    as_of: o.AsOfNow = "",
    subjects: Annotated[str, o.opt("Check the ids in FILE, one a line, and show them.", metavar="FILE")] = "",
    fail_on: Annotated[str, o.opt("Exit with 3 on news at or above low or medium.", metavar="SEVERITY")] = "",
    why: o.Why = "",
    who: o.Who = "",
    region: Region = "",
    config: o.Config = "",
    as_json: o.AsJson = False,
) -> None:
    """Report everybody whose use has become unusual, each change once."""
    if fail_on:
        o.check_word("--fail-on", fail_on, SEVERITIES)
    at = o.moment(as_of, "--as-of") or o.now().replace(microsecond=0)
    ids = read_ids(subjects) if subjects else None
    settings = o.load_config(config).settings
    line = find_helpline(settings.usage["helplines"], region or settings.usage["region"])
    severities: dict[str, int] = dict.fromkeys(SEVERITIES, 0)
    looked = Looked()
    with open_tracker(store, key, who, **measured_by(settings)) as tracker:
        is_old = not as_of and 0 < tracker.newest < at.timestamp() - OLD
        if is_old:
            # The newest event is known to the half-hour.
            last = format_time(moment(int(tracker.newest) * 1_000_000))
            hint = f"to evaluate it at its own time, use --as-of {last}. Nothing was removed"
            warn(
                f"warning: the newest event is of {last[:10]}, so everybody is quiet now; {hint}",
                as_json=as_json,
            )
        gone = Removed(0, 0) if is_old else tracker.tidy(at)
        for news in tracker.sweep(at, subjects=ids, why=why or None, tidy=not is_old, looked=looked):
            severities[news.severity] += 1
            emit([news.to_dict()], rendered("usage_news", news=news), as_json=as_json)
            # Only what the reader has received counts as reported.
            flush()
    if as_json:
        people, removed = PeopleByLevel(**severities), Removed(gone.people, gone.events)
        not_judged = dict(sorted(looked.not_judged.items()))
        write_json(UsageSweep(at, people, removed, looked.people, not_judged, line))
    else:
        how = {"has_news": any(severities.values()), "looked": looked, "helpline": line, "removed": gone}
        write_lines(rendered("usage_sweep", **how))
    if fail_on and any(severities[severity] for severity in SEVERITIES[SEVERITIES.index(fail_on) :]):
        raise click.exceptions.Exit(o.FAIL)


def read_ids(path: str) -> list[str]:
    """The ids of a file, one a line."""
    try:
        with open(path, encoding="utf-8") as file:
            return [line for line in file.read().split("\n") if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise BadUsage(f"--subjects {path}: {getattr(error, 'strerror', None) or error}") from None


# --- audit and info -------------------------------------------------------------------------


def audit(
    store: o.UsageStore,
    key: o.KeyFile = "",
    subject: Annotated[str, o.opt("Select one person.", metavar="ID")] = "",
    is_pseudonym: o.IsPseudonym = False,
    as_json: o.AsJson = False,
) -> None:
    """List who looked at whom, when and why, oldest first."""
    person = o.whom(subject, is_pseudonym) if subject else None
    if o.is_usage(store):
        with open_tracker(store, key, "") as tracker:
            looks = [look.to_dict() for look in tracker.audit(person)]
    else:
        from ..app.stored_events import stored_name

        with open_store(store) as opened:
            name = None if person is None else stored_name(opened, person, key)
            looks = [look.to_dict() for look in opened.looks(name)]
    emit(looks, rendered("audit", looks=looks), as_json=as_json)


def info(store: o.UsageStore, key: o.KeyFile = "", as_json: o.AsJson = False) -> None:
    """Show what is in a store of usage."""
    with open_tracker(store, key, "") as tracker:
        contents = tracker.info()
    emit([contents], rendered("usage_info", info=contents), as_json=as_json)


# --- keys -----------------------------------------------------------------------------------

KeyPath = Annotated[str, o.arg("Name the file of the key.", "FILE")]


def new_key(file: KeyPath, as_json: o.AsJson = False) -> None:
    """Make a key in a file that only you can read.

    Without the key nobody can be found in a store again.
    """
    write_keys(file, new_keys())
    _report_key("new", file, 1, as_json=as_json)


def rotate_key(
    file: KeyPath,
    stores: Annotated[list[str], o.opt("Rename in every store with this key.", "--store", metavar="FILE")],
    who: o.Who = "",
    as_json: o.AsJson = False,
) -> None:
    """Add a key, and rename everybody in the stores.

    A store that has an older key of this file gets the newest one, and no key is added.
    """
    before = read_keys(file)
    keys = rotate(file, [o.path_of(store) for store in stores], at=time.time(), who=who or o.user_name())
    _report_key("catch_up" if keys == before else "rotate", file, len(keys.chain), as_json=as_json)


def check_key(store: o.UsageStore, key: o.KeyFile = "", as_json: o.AsJson = False) -> None:
    """Check that a key is that of a store; exit with 2 where it is not."""
    with open_tracker(store, key, "") as tracker:
        contents = tracker.info()
    _report_key("check", key or os.environ.get(VARIABLE, ""), contents["keys"], as_json=as_json)


def _report_key(what: str, file: str, keys: int, *, as_json: bool) -> None:
    lines = {
        "new": f"New key in {printable(file)}; keep a copy apart from the store.",
        "rotate": f"{keys} keys in {printable(file)}; older copies of the file no longer fit the stores.",
        "catch_up": f"The stores now have the {keys} keys of {printable(file)}; none was added.",
        "check": "The key is that of the store.",
    }
    emit([UsageKey(what=what, file=file or None, keys=keys)], [lines[what]], as_json=as_json)


# --- cohort ---------------------------------------------------------------------------------


def cohort(
    options: Annotated[o.InputOptions, "as_json skip_bad config"] = o.NO_INPUT,
    data: Annotated[list[str], o.opt("Learn from these files or stores.", "--from", metavar="PATH")] = o.NONE,
    out: Annotated[str, o.opt("Write the table to FILE (default: print it).", metavar="FILE")] = "",
    version: Annotated[int, o.opt("Number the version, 2 or above.")] = 2,
    source: Annotated[str, o.opt("Describe where the figures come from.", "--source", metavar="TEXT")] = "",
    date: Annotated[str, o.opt("Date the table, like 2026-01-31.", metavar="DAY")] = "",
) -> None:
    """Learn usual use from at least twenty people, as figures of all."""
    from ..app.cohort import cohort_from, is_database, stored_events
    from ..ingest import Limits as InputLimits
    from ..ingest import read_events

    if not data:
        raise click.BadParameter("name the events to learn from: --from PATH")
    settings = options.settings()
    origin = source or f"learnt from {plural(len(data), 'path')}"
    stores = [path for path in data if is_database(Path(path))]
    events: Sequence[Event] = ()
    if files := [path for path in data if path not in stores]:
        limits = InputLimits(**settings.limits)
        batch = read_events(files, skip_bad=options.skip_bad, limits=limits, latest=o.latest_of(settings))
        options.report_bad(batch)
        events = batch.events
    everything = chain(events, *(stored_events(path, o.now(), o.user_name()) for path in stores))
    made = cohort_from(everything, version=version, source=origin, date=date, settings=settings)
    text = format_cohort(made)
    if out:
        Target("--out", out, new=True).write([text])  # versions never change
    if options.as_json:
        write_json(UsageCohort(cohort=made, file=out or None))
    elif out:
        write_line(printable(f"version {version} from {plural(made.people, 'person')}: {out}"))
        write_line(printable(f"to use it, in ethogram.yaml: usage: {{cohort: {out}}}"))
    else:
        write_text(text)
