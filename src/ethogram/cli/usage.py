"""`ethogram usage`: record how people use a service, without their words, and report what changed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from ..report.wording import plural, printable
from . import options as o
from .output import Progress, emit, flush, write_json, write_line, write_lines, write_text

if TYPE_CHECKING:
    from ..config import Settings
    from ..ingest import Batch
    from ..models import Event
    from ..usage import Fused, Helpline, UsageSignals
    from ..usage.tracker import UsageTracker


SEVERITIES = ("low", "medium")
Region = Annotated[str, o.opt("Choose the helpline of this region: DE, US-CA.", "--region", metavar="CODE")]


def open_tracker(store: str, key: str, who: str, **how: Any) -> UsageTracker:
    """The tracker of an existing file, or with `create=True` of a new one."""
    from ..usage.tracker import UsageTracker

    how = {"create": False, **how}
    return UsageTracker(o.path_of(store), key=key or None, who=who or o.user_name(), **how)


def measured_by(config: str) -> dict[str, Any]:
    """How a tracker measures, by `usage` and `time_zone` of the settings."""
    from dataclasses import fields

    from ..usage.cohort import find_cohort
    from ..usage.settings import Settings

    settings = o.load_config(config).settings
    known = {field.name for field in fields(Settings)}
    limits = {name: value for name, value in settings.usage.items() if name in known}
    return {
        "cohort": find_cohort(settings.usage["cohort"]),
        "settings": Settings(**limits, inactivity=settings.session_inactivity // 1_000_000),
        "time_zone": settings.time_zone,
    }


# --- record ---------------------------------------------------------------------------------


def record(
    paths: o.Paths,
    store: o.UsageStore,
    key: o.KeyFile = "",
    keep: Annotated[str, o.opt("Store events, or aggregates alone (new stores).", metavar="WHAT")] = "",
    retention: Annotated[str, o.opt("Delete after this long, like 90d.", metavar="DURATION")] = "",
    time_zone: Annotated[str, o.opt("Use this time zone where events name none.", metavar="ZONE")] = "",
    skip_bad: o.SkipBad = False,
    config: o.Config = "",
    as_json: o.AsJson = False,
) -> None:
    """Record the events of files; all of them or none.

    After an interruption, the same command continues where it stopped.
    """
    from ..report.stores import recorded_lines
    from ..usage.records import UsageRecorded

    how = {
        "keep": keep or None,
        "retention": retention_seconds(retention),
        "time_zone": time_zone or None,
        "max_future": None,  # times were checked line by line
    }
    # Read first: where a line is bad, no new store is made either.
    batch = read_files(paths, skip_bad=skip_bad, config=config, as_json=as_json)
    with open_tracker(store, key, "", create=True, **how) as tracker:
        done = record_events(tracker, batch)
    emit([UsageRecorded(store=store, **done)], recorded_lines(done, store), as_json=as_json)


def retention_seconds(text: str) -> float | None:
    """Seconds of a duration of one day or more, if given."""
    from ..errors import BadUsage

    seconds = o.seconds_of(text, "--retention")
    if seconds is not None and not 86_400 <= seconds < 1e10:
        raise BadUsage(f"invalid --retention {text!r:.40}: expected one day or more, like 90d")
    return seconds


def read_files(paths: Sequence[str], *, skip_bad: bool, config: str, as_json: bool) -> Batch:
    """The events of the paths; BadEvents with every fault, or bad lines skipped and reported."""
    from ..app.importing import known_kinds
    from ..ingest import Limits, read_events
    from ..patterns.catalogue import known_ranges

    options = o.InputOptions(paths, config=config, skip_bad=skip_bad, as_json=as_json)
    settings, progress = options.settings(), Progress()
    batch = read_events(
        options.paths,
        source=settings.source,
        skip_bad=options.skip_bad,
        kinds=known_kinds(settings),
        ranges=known_ranges(),
        limits=Limits(**settings.limits),
        progress=progress.read,
        check=event_check(),
        latest=o.latest_of(settings),
    )
    progress.stop()
    options.report_bad(batch)
    return batch


def event_check() -> Callable[[Event], None]:
    """A check that raises BadLine at an event that could not be recorded, its time apart."""
    from ..errors import BadUsage
    from ..ingest import BadLine
    from ..usage.event import arguments_of, make_event
    from ..usage.pseudonym import new_keys

    keys = new_keys()

    def check(event: Event) -> None:
        try:
            make_event(keys, math.inf, **arguments_of(event))
        except BadUsage as error:
            raise BadLine(str(error)) from None

    return check


def record_events(tracker: UsageTracker, batch: Batch) -> dict[str, int]:
    """How many events were added, already known, and skipped: not by the person, or invalid."""
    from ..usage.event import arguments_of

    events = [arguments_of(event) for event in batch.events]
    progress = Progress()
    try:
        added, _ = tracker.record_all(
            events, batch_name(events), lambda done, of: progress.count(done, of, "recording")
        )
    finally:
        progress.stop()
    others = sum(not event["is_user"] and not event["ended_abruptly"] for event in events)
    known = len(events) - others - added + batch.repeated
    return {"added": added, "known": known, "not_by_person": others, "bad": batch.bad_count}


def batch_name(events: Sequence[dict[str, Any]]) -> str:
    """A digest of these events, so that the same batch is known again."""
    import hashlib

    digest = hashlib.sha256()
    for event in events:
        digest.update(repr(sorted(event.items())).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


# --- signals and sweep ----------------------------------------------------------------------


def signals(
    subject: Annotated[str, o.arg("Name the person.", "SUBJECT")],
    store: o.UsageStore,
    key: o.KeyFile = "",
    as_of: o.AsOfNow = "",
    why: o.Why = "",
    who: o.Who = "",
    is_pseudonym: o.IsPseudonym = False,
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
    from ..report.stores import usage_lines
    from ..usage.records import UsageSignalsRecord

    at, line = o.moment(as_of, "--as-of") or whole_now(), helpline_for(region, config)
    fused = fused_with(score, crisis, config)
    with open_tracker(store, key, who, **measured_by(config)) as tracker:
        result = tracker.signals(o.whom(subject, is_pseudonym), at, why or None)
    whole = None if fused is None else fused(result)
    if as_json:
        values = result.values()
        write_json(UsageSignalsRecord(subject=subject, as_of=at, values=values, fused=whole, helpline=line))
        return
    write_lines(usage_lines(subject, result))
    if whole is not None:
        write_line(f"Together with content scores: {whole.score or 0:.2f}. {whole.sentence}")
    if line is not None and (result.at_severity("low") or (whole is not None and whole.is_crisis)):
        write_line(f"To offer ({line.region}): {line.text}")


def whole_now() -> Any:
    """The current time in whole seconds."""
    return o.now().replace(microsecond=0)


def helpline_for(region: str, config: str) -> Helpline | None:
    """The helpline that the settings have for a region, or for the default one."""
    from ..usage import helpline

    usage = o.load_config(config).settings.usage
    return helpline(usage["helplines"], region or usage["region"])


def fused_with(
    scores: Sequence[str], crisis: float | None, config: str
) -> Callable[[UsageSignals], Fused] | None:
    """A function that fuses the signals of a person with content scores; None where none are given.

    A bad score is reported before anybody is looked at.
    """
    from ..usage import fuse

    if not scores and crisis is None:
        return None
    numbers, weights = parse_scores(scores), o.load_config(config).settings.usage["weights"]
    fuse(numbers, weights=weights, explicit_crisis=crisis)
    return lambda result: fuse(
        {**numbers, "behaviour": result.for_fusion}, weights=weights, explicit_crisis=crisis
    )


def parse_scores(texts: Sequence[str]) -> dict[str, float]:
    """Scores by name, from texts such as `text=0.4`.

    >>> parse_scores(["text=0.4", "voice=1"])
    {'text': 0.4, 'voice': 1.0}
    """
    from ..errors import BadUsage

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
    from ..errors import BadUsage, did_you_mean
    from ..report.stores import news_lines, people_and_events
    from ..usage.records import PeopleByLevel, Removed, UsageSweep

    if fail_on and fail_on not in SEVERITIES:
        near = did_you_mean(fail_on, SEVERITIES)
        raise BadUsage(f"invalid --fail-on {fail_on!r:.40}: expected {' or '.join(SEVERITIES)}{near}")
    at, ids = o.moment(as_of, "--as-of") or whole_now(), read_ids(subjects) if subjects else None
    line = helpline_for(region, config)
    severities: dict[str, int] = dict.fromkeys(SEVERITIES, 0)
    with open_tracker(store, key, who, **measured_by(config)) as tracker:
        gone = tracker.tidy(at)
        for news in tracker.sweep(at, subjects=ids, why=why or None):
            severities[news.severity] += 1
            emit([news.to_dict()], news_lines(news), as_json=as_json)
            # Only what the reader has received counts as reported.
            flush()
    if as_json:
        people, removed = PeopleByLevel(**severities), Removed(gone.people, gone.events)
        write_json(UsageSweep(as_of=at, people=people, removed=removed, helpline=line))
    elif not sum(severities.values()):
        write_line("No changes.")
    elif line is not None:
        write_line(f"To offer ({line.region}): {line.text}")
    if not as_json and (gone.people or gone.events):
        write_line(f"Removed after the retention period: {people_and_events(gone.people, gone.events)}")
    if fail_on and any(severities[severity] for severity in SEVERITIES[SEVERITIES.index(fail_on) :]):
        raise click.exceptions.Exit(o.FAIL)


def read_ids(path: str) -> list[str]:
    """The ids of a file, one a line."""
    from ..errors import BadUsage

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
    from ..report.stores import look_line
    from ..usage.store import is_usage_store

    person = o.whom(subject, is_pseudonym) if subject else None
    if is_usage_store(o.path_of(store)):
        with open_tracker(store, key, "") as tracker:
            looks = [look.to_dict() for look in tracker.audit(person)]
    else:
        looks = list(stored_looks(store, person, key))
    emit(looks, map(look_line, looks), as_json=as_json)


def stored_looks(store: str, subject: str | None, key: str) -> Iterator[dict[str, Any]]:
    """The audit of a private store of events."""
    from ..app.stored_events import stored_name
    from ..store import open_store

    with open_store(store) as opened:
        name = None if subject is None else stored_name(opened, subject, key)
        yield from (look.to_dict() for look in opened.looks(name))


def info(store: o.UsageStore, key: o.KeyFile = "", as_json: o.AsJson = False) -> None:
    """Show what is in a store of usage."""
    from ..report.stores import people_and_events

    with open_tracker(store, key, "") as tracker:
        contents = tracker.info()
    what = "events" if contents["keep"] == "events" else "aggregates alone"
    counts = people_and_events(contents["people"], contents["events"])
    lines = [
        f"{counts}, {plural(contents['looks'], 'audit line')}",
        f"  stores {what} for {contents['retention_days']:g} days; keys: {contents['keys']}",
    ]
    emit([contents], lines, as_json=as_json)


# --- keys -----------------------------------------------------------------------------------

KeyPath = Annotated[str, o.arg("Name the file of the key.", "FILE")]


def new_key(file: KeyPath, as_json: o.AsJson = False) -> None:
    """Make a key in a file that only you can read.

    Without the key nobody can be found in a store again.
    """
    from ..usage.pseudonym import new_keys, write_keys

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
    import time

    from ..usage.pseudonym import read_keys
    from ..usage.rotation import rotate

    before = read_keys(file)
    keys = rotate(file, [o.path_of(store) for store in stores], at=time.time(), who=who or o.user_name())
    _report_key("catch_up" if keys == before else "rotate", file, len(keys.chain), as_json=as_json)


def check_key(store: o.UsageStore, key: o.KeyFile = "", as_json: o.AsJson = False) -> None:
    """Check that a key is that of a store; exit with 2 where it is not."""
    import os

    from ..usage.pseudonym import VARIABLE

    with open_tracker(store, key, "") as tracker:
        contents = tracker.info()
    _report_key("check", key or os.environ.get(VARIABLE, ""), contents["keys"], as_json=as_json)


def _report_key(what: str, file: str, keys: int, *, as_json: bool) -> None:
    from ..usage.records import UsageKey

    lines = {
        "new": f"New key in {printable(file)}; keep a copy apart from the store.",
        "rotate": f"{keys} keys in {printable(file)}; older copies of the file no longer fit the stores.",
        "catch_up": f"The stores now have the {keys} keys of {printable(file)}; none was added.",
        "check": "The key is that of the store.",
    }
    emit([UsageKey(what=what, file=file or None, keys=keys)], [lines[what]], as_json=as_json)


# --- cohort ---------------------------------------------------------------------------------


def cohort(
    data: Annotated[list[str], o.opt("Learn from these files or stores.", "--from", metavar="PATH")] = o.NONE,
    out: Annotated[str, o.opt("Write the table to FILE (default: print it).", metavar="FILE")] = "",
    version: Annotated[int, o.opt("Number the version, 2 or above.")] = 2,
    source: Annotated[str, o.opt("Describe where the figures come from.", "--source", metavar="TEXT")] = "",
    date: Annotated[str, o.opt("Date the table, like 2026-01-31.", metavar="DAY")] = "",
    as_json: o.AsJson = False,
    skip_bad: o.SkipBad = False,
    config: o.Config = "",
) -> None:
    """Learn usual use from at least twenty people, as figures of all."""
    from ..app.cohort import cohort_from
    from ..usage.cohort import format_cohort

    if not data:
        raise click.BadParameter("name the events to learn from: --from PATH")
    options = o.InputOptions(data, config=config, skip_bad=skip_bad, as_json=as_json)
    settings = options.settings()
    origin = source or f"learnt from {plural(len(data), 'path')}"
    events = _cohort_events(options, settings)
    made = cohort_from(events, version=version, source=origin, date=date, settings=settings)
    text = format_cohort(made)
    if out:
        _write_table(Path(out), text)
    if as_json:
        from ..usage.records import UsageCohort

        write_json(UsageCohort(cohort=made, file=out or None))
    elif out:
        write_line(printable(f"version {version} from {plural(made.people, 'person')}: {out}"))
        write_line(printable(f"to use it, in ethogram.yaml: usage: {{cohort: {out}}}"))
    else:
        write_text(text)


def _cohort_events(options: o.InputOptions, settings: Settings) -> Iterable[Event]:
    """The events of the files and stores that are named."""
    from itertools import chain

    from ..app.cohort import is_database, stored_events
    from ..ingest import Limits, read_events

    stores = [path for path in options.paths if is_database(Path(path))]
    files = [path for path in options.paths if path not in stores]
    events: Sequence[Event] = ()
    if files:
        limits = Limits(**settings.limits)
        batch = read_events(files, skip_bad=options.skip_bad, limits=limits, latest=o.latest_of(settings))
        options.report_bad(batch)
        events = batch.events
    return chain(events, *(stored_events(path, o.now(), o.user_name()) for path in stores))


def _write_table(path: Path, text: str) -> None:
    from ..errors import BadUsage

    if path.exists():
        raise BadUsage(f"{str(path)!r:.200} already exists: versions never change, so name another file")
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise BadUsage(f"{str(path)!r:.200} cannot be written: {error.strerror or error}") from None
