"""`ethogram sweep`: everybody with something new in a store, once or every so often."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .inputs import AsJson, Asked, Config, Parameters, Scorers
from .output import write_json
from .stored import StoreUrl, moment, note_all, now

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..app.sweep import Sweep
    from ..config import Settings
    from ..models.mute import Mute
    from ..store import Change, Store


FOUND = 3
SHOWN_WHOLE = ("new", "found again", "risen")
WHY = {
    "withdrawn": "no longer found: events that came later undo it",
    "superseded": "no longer found: the pattern has changed",
    "closed": "over",
}


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("sweep")(sweep)


def sweep(
    store: StoreUrl,
    since: Annotated[
        str, typer.Option(metavar="TIME", help="Also everybody with an event from then on.")
    ] = "",
    min_events: Annotated[int, typer.Option(min=1, help="Only subjects with so many events.")] = 1,
    as_of: Annotated[
        str, typer.Option(metavar="TIME", help="The moment of the question; without it, now.")
    ] = "",
    every: Annotated[str, typer.Option(metavar="DURATION", help="Again and again, as every 1h.")] = "",
    patterns: Annotated[
        list[str],
        typer.Option("--patterns", metavar="SELECTOR", help="Only these; a name, glob, file or folder."),
    ] = [],  # noqa: B006 (typer copies it)
    fail_on: Annotated[
        str, typer.Option(metavar="SEVERITY", help="Exit 3 where something new is at or above this severity.")
    ] = "",
    reset_clock: Annotated[
        bool, typer.Option("--reset-clock", help="Forget sweeps recorded ahead of the clock first.")
    ] = False,
    scorers: Scorers = [],  # noqa: B006
    parameters: Parameters = [],  # noqa: B006
    config: Config = "",
    as_json: AsJson = False,
) -> None:
    """Look at every subject with something new in a store, and tell what changed, each change once."""
    from ..app.analyze import load_library
    from ..app.verdicts import settle
    from ..errors import BadUsage
    from ..store import open_store

    asked = Asked((), as_of, config, "", False, scorers, parameters, fail_on, as_json)
    loaded, pause = asked.loaded(), duration(every)
    settings = loaded.settings
    if pause and as_of:
        raise BadUsage("--every asks anew each time, so it takes no --as-of")
    library = load_library(patterns or None, loaded)
    with open_store(store) as opened:
        if reset_clock:
            _reset_clock(opened)
        while True:
            options = {"since": moment(since, "--since"), "min_events": min_events}
            note_all(opened, "sweep")
            done = _once(opened, library, settings, asked.moment() or now(), options)
            failing, done, shown = muted(done, asked.mutes(loaded, untrusted=True), opened)
            tell(opened, judged(done, opened, settings), shown, as_json=as_json)
            settle(opened, settings, now())
            if settings.fail_on is not None and failing.at_or_above(settings.fail_on):
                raise typer.Exit(FOUND)
            if not pause:
                return
            wait(pause)


def muted(
    done: Sweep, entries: Sequence[Mute], store: Store
) -> tuple[Sweep, Sweep, list[tuple[Change, Mute]]]:
    """The sweep as --fail-on sees it, as it is told, and what an untrusted file mutes."""
    from dataclasses import replace

    from ..app.sweep import mute_changes

    at = now()
    failing = mute_changes(done, [one for one in entries if not one.untrusted], store, at)
    told, shown = failing, list[tuple["Change", "Mute"]]()
    for entry in (one for one in entries if one.untrusted):
        left = {one.key for one in mute_changes(told, [entry], store, at).changes}
        new = [one for one in told.changes if one.key not in left]
        shown += [(one, entry) for one in new]
        changes = tuple(one for one in told.changes if one.key in left)
        told = replace(told, changes=changes, muted=(*told.muted, *new))
    return failing, told, shown


def _reset_clock(store: Store) -> None:
    import sys

    from ..app.sweep import reset_clock
    from .output import write_line
    from .text import plural

    again = plural(reset_clock(store, now()), "subject")
    write_line(f"Forgot sweeps ahead of the clock; looking at {again} again.", to=sys.stderr)


def judged(done: Sweep, store: Store, settings: Settings) -> Sweep:
    """The sweep with what confidences have meant by verdicts, where the settings say so."""
    from dataclasses import replace

    if not done.changes or not store.has_verdicts():
        return done
    from ..app.accuracy import with_probabilities

    found = with_probabilities([one.detection for one in done.changes], store, settings)
    changes = [replace(one, detection=other) for one, other in zip(done.changes, found, strict=True)]
    return replace(done, changes=tuple(changes))


def _once(store: Store, library: Any, settings: Any, at: Any, options: dict[str, Any]) -> Sweep:
    from ..app.sweep import sweep as run
    from .progress import Progress

    progress = Progress()
    with progress.checking(f"looking for {len(library)} patterns in what is new"):
        return run(store, library, as_of=at, clock=now, settings=settings, **options)


def duration(given: str) -> float:
    """Seconds of a duration such as 1h; 0 where none is given."""
    from ..errors import BadUsage
    from ..models import parse_duration

    if not given:
        return 0.0
    try:
        seconds = parse_duration(given) / 1e6
    except ValueError as error:
        raise BadUsage(f"--every: {error}") from None
    if seconds <= 0:
        raise BadUsage("--every must be longer than nothing")
    return seconds


def wait(seconds: float) -> None:
    """Sleep; Ctrl-C ends it at once."""
    import time

    time.sleep(seconds)


def tell(store: Store, done: Sweep, shown: Sequence[tuple[Change, Mute]] = (), *, as_json: bool) -> None:
    """Print the changes, then remember that they were told: who is killed in between hears them again."""
    from dataclasses import replace

    from ..app.stored_events import note_looks
    from .output import flush
    from .report_rest import untrusted_lines
    from .text import show
    from .usage_common import user_name

    if as_json:
        for one in done.changes:
            write_json(replace(one.detection, change=one.change))
        for one, entry in shown:
            write_json(replace(one.detection, change=one.change, muted=entry.id, muted_by_untrusted=True))
        write_json(done.summary())
    else:
        untimed = {one.name for one in store.sources().values() if not one.timed}
        show(*sweep_parts(done, untimed), *untrusted_lines([(one.detection, entry) for one, entry in shown]))
    flush()
    people = sorted({one.detection.subject for one in done.changes})
    note_looks(store, "listed", people, at=now(), who=user_name())
    store.mark_told(one.key for one in (*done.changes, *done.muted))


def sweep_parts(done: Sweep, untimed: set[str]) -> Iterator[RenderableType]:
    """What changed, the gravest first; then what is over or taken back."""
    from ..models import rank
    from .report import detection_parts
    from .text import clean, plural, stamp

    looked = f"{plural(done.subjects, 'subject')} looked at, {plural(done.events, 'event')} read"
    yield f"{plural(len(done.changes), 'change')} as of {stamp(done.as_of)} UTC; {looked}."
    if done.without_text:
        names = clean(", ".join(done.without_text))
        yield f"Nothing to go by: {names} read texts, and this store keeps none (import with --keep-text)."
    whole = [one for one in done.changes if one.change in SHOWN_WHOLE]
    for one in sorted(whole, key=lambda one: (-rank(one.detection.severity), one.detection.order)):
        yield ""
        if one.change != "new":
            yield f"({one.change})"
        yield from detection_parts(one.detection, timed=one.detection.source not in untimed)
    rest = [one for one in done.changes if one.change not in SHOWN_WHOLE]
    if rest:
        yield ""
    if done.muted:
        yield f"Muted, and not told: {plural(len(done.muted), 'change')}"
    for one in rest:
        found = one.detection
        who = f"{clean(found.title or found.pattern)}, {clean(found.subject)}"
        yield f"{one.change.capitalize()}: {who} ({WHY[one.change]}); id {found.id}"
