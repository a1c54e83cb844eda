"""`ethogram patterns backtest`, `shadow` and `validate`: what patterns detect, and how well."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated

import click

from ..app.analyze import analyze_batch, load_library
from ..app.backtest import BacktestResult, backtest_patterns, backtest_shadow
from ..app.judging import validate as validating
from ..app.judging.labelled_items import join_labels
from ..app.judging.labels import labels_in, locate_set, read_labels
from ..app.stored_events import gather
from ..config import Loaded
from ..errors import BadUsage
from ..models import SEVERITIES, Detection, Event, parse_duration, parse_time
from ..patterns.catalogue import load_vocabulary
from ..patterns.library import Library, load_patterns, select
from ..patterns.settings_check import check_patterns
from ..report.patterns import backtest_parts, labelled_lines, too_little
from ..report.wording import plural
from ..store import open_store
from . import options as o
from .output import Progress, emit, show, write_line

Since = Annotated[str, o.opt("Count detections since then: 30d, or a time.", metavar="DURATION|TIME")]


def backtest(
    patterns: Annotated[list[str], o.arg("Name pattern files or patterns.", "PATTERN")],
    options: Annotated[o.InputOptions, "as_of as_json skip_bad config scorers parameters"] = o.NO_INPUT,
    store: Annotated[str, o.opt("Use all events of this store.", metavar="URL")] = "",
    data: Annotated[list[str], o.opt("Use the events of these files.", "--data", metavar="PATH")] = o.NONE,
    since: Since = "",
    against: Annotated[
        list[str], o.opt("Compare with another version.", "--against", metavar="SELECTOR")
    ] = o.NONE,
    shuffles: Annotated[int, o.opt("Shuffle histories this often; 0: never.", min=0)] = 10,
    seed: Annotated[int, o.opt("Seed the shuffles.")] = 0,
    examples: Annotated[int, o.opt("Show this many examples of each.", min=0, max=100)] = 3,
    excerpts: o.Excerpts = False,
    jobs: o.Jobs = None,
) -> None:
    """Show what patterns would have detected, and how often by chance."""
    if bool(store) == bool(data):
        raise click.BadParameter("expected either --store or --data")
    options = replace(options, paths=data)
    moment, back, loaded, progress = options.moment(), since_of(since), options.loaded(), Progress()
    library, others, other = _libraries(loaded, patterns, against)
    if store:
        libraries = [library, others, *([other] if other else [])]
        programs = [program for library in libraries for program in library.programs]
        with open_store(store) as opened:
            o.note_all(opened, "backtest")
            gathered = gather(opened, programs, memory=loaded.settings.memory)
    else:
        gathered = options.gather(library, loaded.settings, progress)
    with o.held(gathered), progress.checking(f"testing on {len(gathered.events):,} events"):
        result = backtest_patterns(
            gathered,
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
            jobs=jobs,
        )
    _write(result, options.as_json)


def shadow(
    store: o.StoreUrl,
    since: Since = "",
    as_json: o.AsJson = False,
    config: o.Config = "",
) -> None:
    """Show what shadow patterns (status: shadow) have detected in a store."""
    settings = o.load_config(config).settings
    library = select(
        (),
        more=settings.patterns,
        vocabulary=load_vocabulary(settings.signals),
        parameters=settings.parameters,
        status=settings.status,
    )
    with open_store(store) as opened:
        o.note_all(opened, "shadow")
        result = backtest_shadow(opened, library.programs, as_of=o.now(), since=since_of(since))
    _write(result, as_json)


def _libraries(
    loaded: Loaded, patterns: Sequence[str], against: Sequence[str]
) -> tuple[Library, Library, Library | None]:
    """The patterns to test, those that are on, and the other version as its own file has it."""
    settings = loaded.settings
    check_patterns(loaded, patterns)
    vocabulary = load_vocabulary(settings.signals)
    # Whatever its status: a pattern that is tested may be switched off.
    library = load_patterns(
        patterns,
        more=settings.patterns,
        vocabulary=vocabulary,
        parameters=settings.parameters,
        any_status=True,
    )
    tested = {*library.chosen}
    parameters = {name: values for name, values in settings.parameters.items() if name not in tested}
    status = {name: value for name, value in settings.status.items() if name not in tested}
    others = load_library(None, replace(settings, parameters=parameters, status=status))
    other = None
    if against:
        other = load_patterns(against, more=settings.patterns, vocabulary=vocabulary, any_status=True)
    return library, others, other


def since_of(text: str) -> timedelta | datetime | None:
    """How long back, or since when; None where nothing is given.

    >>> since_of("30d").days
    30
    """
    if not text:
        return None
    try:
        return timedelta(microseconds=parse_duration(text))
    except ValueError:
        pass
    try:
        return parse_time(text)
    except ValueError as error:
        raise BadUsage(f"invalid --since: expected a duration, like 30d, or a time: {error}") from None


def _write(result: BacktestResult, as_json: bool) -> None:
    if as_json:
        emit(result.to_dicts(), (), as_json=True)
    else:
        show(*backtest_parts(result))


# --- validate ----------------------------------------------------------------------------------

DATA = "ETHOGRAM_DATA"
"""The variable that names the folder of data where --data does not."""


def validate(
    labels: Annotated[str, o.arg("Read labels, or events with labels beside them.", "SET|FILE")],
    options: Annotated[o.InputOptions, "patterns as_json skip_bad config scorers parameters"] = o.NO_INPUT,
    data: Annotated[list[str], o.opt("Read events from here.", "--data", metavar="PATH")] = o.NONE,
    against: Annotated[
        list[str], o.opt("Compare with another version.", "--against", metavar="SELECTOR")
    ] = o.NONE,
    label: Annotated[
        str, o.opt("Label threads by an attribute.", "--label", metavar="ATTRIBUTE=VALUE[,VALUE]")
    ] = "",
    split: Annotated[str, o.opt("Use the labels of this split.", metavar="NAME")] = "",
    severity: Annotated[str, o.opt("Count detections at or above SEVERITY.", metavar="SEVERITY")] = "any",
) -> None:
    """Measure precision and recall of patterns on labelled data."""
    labelled = locate_set(labels, data, os.environ.get(DATA, ""), in_events=bool(label))
    progress = Progress()
    o.check_word("--severity", severity, ("any", *SEVERITIES))
    options = replace(options, paths=[str(path) for path in labelled.events])
    events, names, detections = _detections(options, progress)
    if labelled.labels is not None:
        every = read_labels(labelled.labels)
    else:
        attribute, equals, values = label.partition("=")
        if not (attribute and equals and values):
            raise BadUsage(f"invalid --label {label[:80]!r}: expected ATTRIBUTE=VALUE, like label=failed")
        every = labels_in(events, attribute, frozenset(values.split(",")))
    chosen = [each for each in every if split in ("", each.split)]
    if not chosen:
        there = ", ".join(sorted({each.split for each in every} - {""})) or "none"
        raise BadUsage(f"no label is in the split {split[:80]!r}; splits: {there[:200]}")
    things = join_labels(chosen, events, labelled.labels or labelled.events[0])
    with progress.checking("comparing with the labels"):
        records = list(validating.validate_labelled(labelled.name, things, detections, names, severity))
        if against:
            # Without parameters of its own: the other version counts as its file has it.
            _, known, others = _detections(replace(options, parameters=(), patterns=against), progress)
            records += validating.compare_labelled(
                labelled.name, things, others, detections, severity, (known, names)
            )
    records.append(validating.summary(labelled.name, things, names, severity, digest(labelled.files)))
    if warning := too_little(records):
        write_line(f"warning: {warning}", to=sys.stderr)
    emit(records, labelled_lines(records), as_json=options.as_json)


def digest(files: Iterable[Path]) -> str:
    """A digest of the names and contents of files, to tie figures to the data they come from."""
    whole = hashlib.sha256()
    for file in sorted(files):
        whole.update(file.name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()[:16]


def _detections(
    options: o.InputOptions, progress: Progress
) -> tuple[Sequence[Event], list[str], list[Detection]]:
    """The events, the names of the checked patterns, and all detections."""
    loaded = options.loaded()
    library = options.library(loaded)
    batch = options.read(library.kinds, loaded.settings, progress)
    with progress.checking(f"checking {plural(len(batch.events), 'event')}"):
        analysis = analyze_batch(batch, library, settings=loaded.settings)
    return batch.events, [row.pattern for row in analysis.checked], analysis.every
