"""`ethogram patterns backtest` and `patterns shadow`: what patterns would have found, or did, unseen."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from .inputs import AsJson, Asked, AsOf, Config, Parameters, Scorers, SkipBad
from .output import write_json
from .stored import StoreUrl, note_all, now

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from ..app.backtest import BacktestResult
    from ..config import Loaded
    from ..ingest import Batch, OnDisk
    from ..patterns.library import Library
    from .progress import Progress


SINCE = "Only what was detected since: 30d, or a time."
Since = Annotated[str, typer.Option(metavar="DURATION|TIME", help=SINCE)]


def backtest(
    patterns: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Pattern files, or names.", show_default=False)
    ],
    store: Annotated[str, typer.Option(metavar="URL", help="Look at all events in this store.")] = "",
    data: Annotated[
        list[str], typer.Option("--data", metavar="PATH", help="Or at these files of events; repeatable.")
    ] = [],  # noqa: B006 (typer copies it)
    since: Since = "",
    against: Annotated[
        list[str], typer.Option("--against", metavar="SELECTOR", help="Another version, to compare with.")
    ] = [],  # noqa: B006
    shuffles: Annotated[int, typer.Option(min=0, help="How often histories are shuffled; 0: not.")] = 10,
    seed: Annotated[int, typer.Option(help="The same seed gives the same shuffles.")] = 0,
    examples: Annotated[int, typer.Option(min=0, max=100, help="So many examples of each.")] = 3,
    excerpts: Annotated[
        bool, typer.Option("--excerpts", help="Show what the evidence says, secrets and names masked.")
    ] = False,
    as_json: AsJson = False,
    as_of: AsOf = "",
    skip_bad: SkipBad = False,
    scorers: Scorers = [],  # noqa: B006
    config: Config = "",
    parameters: Parameters = [],  # noqa: B006
) -> None:
    """Say what patterns would have found in history, beside chance and beside other patterns."""
    from ..app.backtest import backtest_patterns
    from ..ingest import OnDisk
    from .progress import Progress

    if bool(store) == bool(data):
        raise typer.BadParameter("name a --store, or files of events with --data")
    asked = Asked(data, as_of, config, "", skip_bad, scorers, parameters, "", as_json)
    moment, back, loaded, progress = asked.moment(), since_of(since), asked.loaded(), Progress()
    library, others, other = _libraries(loaded, patterns, against)
    with ExitStack() as stack:
        given = _given(store, asked, loaded, [library, others, *([other] if other else [])], progress)
        if isinstance(given, OnDisk):
            stack.enter_context(given)
        stack.enter_context(progress.checking(f"looking back over {len(given.events):,} events"))
        told = backtest_patterns(
            given,
            library,
            others,
            settings=loaded.settings,
            against=other,
            as_of=moment,
            since=back,
            shuffles=shuffles,
            seed=seed,
            examples=examples,
            excerpts=excerpts,
            progress=progress.count,
        )
    _write(told, as_json)


def shadow(
    store: StoreUrl,
    since: Since = "",
    as_json: AsJson = False,
    config: Config = "",
) -> None:
    """Show what shadow patterns (status: shadow) have found in a store."""
    from ..app.backtest import backtest_shadow
    from ..patterns.catalogue import load_vocabulary
    from ..patterns.library import select
    from ..store import open_store
    from .inputs import load_config

    settings = load_config(config).settings
    library = select(
        (),
        more=settings.patterns,
        vocabulary=load_vocabulary(settings.signals),
        parameters=settings.parameters,
        status=settings.status,
    )
    with open_store(store) as opened:
        note_all(opened, "shadow")
        told = backtest_shadow(opened, library.programs, as_of=now(), since=since_of(since))
    _write(told, as_json)


def _libraries(
    loaded: Loaded, patterns: Sequence[str], against: Sequence[str]
) -> tuple[Library, Library, Library | None]:
    """What is tested, what is on, and the other version as its own file says it."""
    from dataclasses import replace

    from ..app.analyze import load_library
    from ..patterns.catalogue import load_vocabulary
    from ..patterns.library import load_patterns
    from ..patterns.settings_check import check_patterns

    settings = loaded.settings
    check_patterns(loaded, patterns)
    # Whatever its status: who asks what a pattern would have found may have it switched off.
    library = load_patterns(
        patterns,
        more=settings.patterns,
        vocabulary=load_vocabulary(settings.signals),
        parameters=settings.parameters,
        any_status=True,
    )
    tested = {*library.chosen}
    kept = {name: given for name, given in settings.parameters.items() if name not in tested}
    status = {name: given for name, given in settings.status.items() if name not in tested}
    others = load_library(None, replace(settings, parameters=kept, status=status))
    other = None
    if against:
        vocabulary = load_vocabulary(settings.signals)
        other = load_patterns(against, more=settings.patterns, vocabulary=vocabulary, any_status=True)
    return library, others, other


def _given(
    url: str, asked: Asked, loaded: Loaded, libraries: Sequence[Library], progress: Progress
) -> Batch | OnDisk:
    from ..app.stored_events import gather
    from ..store import open_store

    if not url:
        return asked.gather(libraries[0], loaded.settings, progress)
    programs = [program for library in libraries for program in library.programs]
    with open_store(url) as opened:
        note_all(opened, "backtest")
        return gather(opened, programs, memory=loaded.settings.memory)


def since_of(given: str) -> timedelta | datetime | None:
    """How long back, or since when; None where nothing is given.

    >>> since_of("30d").days
    30
    """
    from datetime import timedelta

    from ..errors import BadUsage
    from ..models import parse_duration, parse_time

    if not given:
        return None
    try:
        return timedelta(microseconds=parse_duration(given))
    except ValueError:
        pass
    try:
        return parse_time(given)
    except ValueError as error:
        raise BadUsage(f"--since takes a duration such as 30d, or a time: {error}") from None


def _write(told: BacktestResult, as_json: bool) -> None:
    from .backtest_text import backtest_parts
    from .text import show

    if not as_json:
        show(*backtest_parts(told))
        return
    for record in told.to_dicts():
        write_json(record)
