"""`ethogram usage`: how people use a service, recorded without their words, and what changed in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .inputs import AsJson, Config, Paths, SkipBad
from .output import flush, write_json, write_line
from .stored import moment
from .usage_common import (
    AsOfNow,
    IsPseudonym,
    KeyFile,
    Region,
    UsageStore,
    Who,
    Why,
    measured_by,
    open_tracker,
    path_of,
    whom,
)

if TYPE_CHECKING:
    from ..usage import UsageSignals
    from ..usage.signals import News


FOUND = 3
SEVERITIES = ("low", "medium")


def register(app: typer.Typer) -> None:
    """Adds the group; other files add further commands to it."""
    group = typer.Typer(help="How people use a service.", no_args_is_help=True)
    group.command("record")(record)
    group.command("signals")(signals)
    group.command("sweep")(sweep)
    group.command("audit")(audit)
    group.command("info")(info)
    app.add_typer(group, name="usage")


def record(
    paths: Paths,
    store: UsageStore,
    key: KeyFile = "",
    keep: Annotated[
        str, typer.Option(metavar="WHAT", help="A new store keeps events, or aggregates alone.")
    ] = "",
    retention: Annotated[
        str, typer.Option(metavar="DURATION", help="How long anything is kept, as 90d.")
    ] = "",
    time_zone: Annotated[
        str, typer.Option(metavar="ZONE", help="Where people live of whom no event says so.")
    ] = "",
    skip_bad: SkipBad = False,
    config: Config = "",
    as_json: AsJson = False,
) -> None:
    """Record the events of files: all of them, or none where a line is bad.

    Interrupted, the same command goes on where it was.
    """
    from .usage_record import read_files, record_events

    how = {
        "keep": keep or None,
        "retention": seconds(retention, "--retention"),
        "time_zone": time_zone or None,
        "max_future": None,  # times were checked line by line
    }
    # Read first: where a line is bad there is no new store either.
    batch = read_files(paths, skip_bad=skip_bad, config=config, as_json=as_json)
    with open_tracker(store, key, "", create=True, **how) as tracker:
        done = record_events(tracker, batch)
    if as_json:
        from ..usage.records import UsageRecorded

        write_json(UsageRecorded(store=store, **done))
        return
    from .text import plural

    write_line(f"{plural(done['added'], 'event')} recorded in {store}.")
    if done["known"]:
        write_line(f"Known already: {plural(done['known'], 'event')}")
    if done["not_by_person"]:
        write_line(f"Left out, not by the person: {plural(done['not_by_person'], 'event')}")


def seconds(given: str, option: str) -> float | None:
    """Seconds of a duration such as 90d, if one is given."""
    from ..errors import BadUsage
    from ..models import parse_duration

    try:
        found = parse_duration(given) / 1e6 if given else None
    except ValueError as error:
        raise BadUsage(f"{option}: {error}") from None
    if found is not None and not 86_400 <= found < 1e10:
        raise BadUsage(f"{option} is one day or more, as 90d; here is {given!r:.40}")
    return found


def signals(
    subject: Annotated[str, typer.Argument(help="The person.", show_default=False)],
    store: UsageStore,
    key: KeyFile = "",
    as_of: AsOfNow = "",
    why: Why = "",
    who: Who = "",
    is_pseudonym: IsPseudonym = False,
    region: Region = "",
    score: Annotated[
        list[str],
        typer.Option(
            "--score", metavar="NAME=NUMBER", help="A score of what was said: text=0.4; repeatable."
        ),
    ] = [],  # noqa: B006 (typer copies it)
    crisis: Annotated[
        float | None,
        typer.Option(
            "--crisis", metavar="NUMBER", help="How sure it is that they spoke of a crisis, 0 to 1."
        ),
    ] = None,
    config: Config = "",
    as_json: AsJson = False,
) -> None:
    """Say what is unusual about a person against their own habit; without --as-of, now."""
    from .usage_beside import fused_with, helpline_for

    at, said = moment(as_of, "--as-of") or now(), helpline_for(region, config)
    fused = fused_with(score, crisis, config)
    with open_tracker(store, key, who, **measured_by(config)) as tracker:
        found = tracker.signals(whom(subject, is_pseudonym), at, why or None)
    whole = None if fused is None else fused(found)
    if as_json:
        from ..usage.records import UsageSignalsRecord

        values = found.values()
        write_json(UsageSignalsRecord(subject=subject, as_of=at, values=values, fused=whole, helpline=said))
        return
    for line in signal_lines(subject, found):
        write_line(line)
    if whole is not None:
        write_line(f"Together with what was said: {whole.score or 0:.2f}. {whole.sentence}")
    if said is not None and (found.at_severity("low") or (whole is not None and whole.is_crisis)):
        write_line(f"To offer ({said.region}): {said.text}")


def now() -> Any:
    """The moment; the only place where these commands look at the clock."""
    from datetime import UTC, datetime

    return datetime.now(UTC).replace(microsecond=0)


def signal_lines(subject: str, found: UsageSignals) -> Iterator[str]:
    """The text form: what is unusual first, then the rest."""
    from .text import clean

    yield f"{clean(subject)}: behavioural score {found.score:.2f}"
    if found.status != "ok":
        yield "  Too little is known to say anything."
    order = {"medium": 0, "low": 1, "none": 2}
    for one in sorted(found.findings.values(), key=lambda one: (order[one.severity], not one.is_ok)):
        word = one.severity.upper() if one.severity != "none" else "-" if one.is_ok else "?"
        yield f"  {word:<7}{one.name}: {one.sentence}"


def sweep(
    store: UsageStore,
    key: KeyFile = "",
    as_of: AsOfNow = "",
    subjects: Annotated[
        str, typer.Option(metavar="FILE", help="Ids, one a line: these are looked at, and told by id.")
    ] = "",
    fail_on: Annotated[
        str,
        typer.Option(metavar="SEVERITY", help="Exit 3 where something new is at or above: low or medium."),
    ] = "",
    why: Why = "",
    who: Who = "",
    region: Region = "",
    config: Config = "",
    as_json: AsJson = False,
) -> None:
    """Tell of everybody about whom something is unusual, each change once; without --as-of, now."""
    from ..errors import BadUsage, did_you_mean
    from .usage_beside import helpline_for

    if fail_on and fail_on not in SEVERITIES:
        near = did_you_mean(fail_on, SEVERITIES)
        raise BadUsage(f"--fail-on takes {' or '.join(SEVERITIES)}, not {fail_on!r:.40}{near}")
    at, ids = moment(as_of, "--as-of") or now(), read_ids(subjects) if subjects else None
    said = helpline_for(region, config)
    severities: dict[str, int] = dict.fromkeys(SEVERITIES, 0)
    with open_tracker(store, key, who, **measured_by(config)) as tracker:
        gone = tracker.tidy(at)
        for one in tracker.sweep(at, subjects=ids, why=why or None):
            severities[one.severity] += 1
            if as_json:
                write_json(one.to_dict())
            else:
                for line in news_lines(one):
                    write_line(line)
            # What the reader has counts as told, and nothing else.
            flush()
    if as_json:
        from ..usage.records import PeopleByLevel, Removed, UsageSweep

        people, removed = PeopleByLevel(**severities), Removed(gone.people, gone.events)
        write_json(UsageSweep(as_of=at, people=people, removed=removed, helpline=said))
    elif not sum(severities.values()):
        write_line("Nothing new to tell.")
    elif said is not None:
        write_line(f"To offer ({said.region}): {said.text}")
    if not as_json and (gone.people or gone.events):
        write_line(f"Older than the retention, and removed: {people_and_events(gone.people, gone.events)}")
    if fail_on and any(severities[severity] for severity in SEVERITIES[SEVERITIES.index(fail_on) :]):
        raise typer.Exit(FOUND)


def read_ids(path: str) -> list[str]:
    """The ids of a file, one a line."""
    from ..errors import BadUsage

    try:
        with open(path, encoding="utf-8") as file:
            return [line for line in file.read().split("\n") if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise BadUsage(f"--subjects {path}: {getattr(error, 'strerror', None) or error}") from None


def news_lines(one: News) -> Iterator[str]:
    """The text form of what is new about a person."""
    from .text import clean

    yield f"{one.severity.upper()} {clean(one.subject or one.person)} (score {one.signals.score:.2f})"
    for found in one.findings:
        yield f"  {found.severity:<7}{found.name}: {found.sentence}"


def audit(
    store: UsageStore,
    key: KeyFile = "",
    subject: Annotated[str, typer.Option(metavar="ID", help="Only looks at this person.")] = "",
    is_pseudonym: IsPseudonym = False,
    as_json: AsJson = False,
) -> None:
    """List who looked at whom, when, and why; oldest first."""
    from ..usage.store import is_usage_store

    given = whom(subject, is_pseudonym) if subject else None
    if not is_usage_store(path_of(store)):
        lines = stored_looks(store, given, key)
    else:
        with open_tracker(store, key, "") as tracker:
            lines = [one.to_dict() for one in tracker.audit(given)]
    for one in lines:
        if as_json:
            write_json(one)
        else:
            write_line(look_line(one))


def stored_looks(store: str, subject: str | None, key: str) -> list[dict[str, Any]]:
    """The same of a store of events that keeps people under other names."""
    from ..app.stored_events import stored_name
    from ..store import open_store

    with open_store(store) as opened:
        name = None if subject is None else stored_name(opened, subject, key)
        return [one.to_dict() for one in opened.looks(name)]


def look_line(told: dict[str, Any]) -> str:
    """The text form of a line."""
    from .text import clean

    person = f" {told['person']}" if told["person"] else ""
    why = f": {clean(told['why'])}" if told["why"] else ""
    return f"{told['at']}  {told['what']}{person}  by {clean(told['who']) or 'nobody named'}{why}"


def info(store: UsageStore, key: KeyFile = "", as_json: AsJson = False) -> None:
    """Say what is in a store of people's use."""
    from .text import plural

    with open_tracker(store, key, "") as tracker:
        found = tracker.info()
    if as_json:
        write_json(found)
        return
    kept = "events" if found["keep"] == "events" else "aggregates alone, and no event after its day"
    held = people_and_events(found["people"], found["events"])
    write_line(f"{held}, {plural(found['looks'], 'line')} of audit")
    write_line(f"  keeps {kept}, for {found['retention_days']:g} days; keys: {found['keys']}")


def people_and_events(people: int, events: int) -> str:
    """So many people and events, in words.

    >>> people_and_events(1, 2000)
    '1 person, 2,000 events'
    """
    from .text import plural

    return f"{'1 person' if people == 1 else f'{people:,} people'}, {plural(events, 'event')}"
