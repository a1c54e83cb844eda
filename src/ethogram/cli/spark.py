"""`ethogram spark`: events of files, tables and streams in, detections out, on a Spark cluster."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import click

from .. import spark as spark_
from ..app.analyze import load_library
from ..app.evaluation.questions import Interrupts
from ..app.live.stream_consumer import EventWriter, Line, Sweeps
from ..app.sweep import Sweep
from ..errors import BadUsage, EthogramError
from ..report.wording import plural, printable
from ..store import open_store
from . import options as o
from .output import Progress, write_line
from .watch import REJECTED, report_changes, warn_refused

WAIT = 0.5
"""Seconds until a sweep is tried again while another one is at work, and between looks at a query."""


def analyze(
    source_of: Annotated[
        str, o.opt("Read these Parquet files, or a table of the catalogue.", "--input", metavar="PATH|TABLE")
    ],
    output: Annotated[str, o.opt("Write JSON records into this new folder.", "--output", metavar="DIR")],
    master: Annotated[
        str, o.opt("Run on this cluster (default: as Spark is set up).", "--master", metavar="URL")
    ] = "",
    patterns: o.Patterns = o.NONE,
    as_of: o.AsOf = "",
    fail_on: o.FailOn = "",
    config: o.Config = "",
    source: o.Source = "",
    scorers: o.Scorers = o.NONE,
    run: o.RunOptions = o.NO_RUN,
    parameters: o.Parameters = o.NONE,
    plugins: o.Plugins = o.NONE,
) -> None:
    """Detect patterns in events on Spark; records as of analyze --json."""
    options = o.InputOptions((), as_of, config, source, False, scorers, parameters, fail_on, run=run)
    loaded = options.loaded()
    library = load_library(patterns or None, loaded)
    session = spark_.session(master)
    is_table = "/" not in source_of and session.catalog.tableExists(source_of)
    frame = session.table(source_of) if is_table else spark_.read_parquet(session, source_of)
    with Progress().checking(f"checking for {plural(len(library), 'pattern')} on Spark"):
        analysis = spark_.detect(frame, library, as_of=options.moment(), settings=loaded.settings)
    lines = [(json.dumps(record, ensure_ascii=False),) for record in analysis.to_dicts()]
    session.createDataFrame(lines, "value string").coalesce(1).write.text(output)
    write_line(
        f"{plural(len(analysis), 'detection')} in {plural(analysis.events, 'event')}: {printable(output)}"
    )
    if loaded.settings.fail_on is not None and analysis.at_or_above(loaded.settings.fail_on):
        raise click.exceptions.Exit(o.FAIL)


def stream(
    store: o.StoreUrl,
    checkpoint: Annotated[str, o.opt("Keep Spark's position in this folder.", "--checkpoint", metavar="DIR")],
    source_of: Annotated[
        str, o.opt("Read files that come into this folder.", "--input", metavar="PATH")
    ] = "",
    form: Annotated[str, o.opt("Read json, parquet, kafka or another format.", "--format")] = "json",
    reader_options: Annotated[
        list[str], o.opt("Set an option of the format.", "--option", metavar="NAME=VALUE")
    ] = o.NONE,
    select: Annotated[
        list[str], o.opt("Make a column by an SQL expression.", "--select", metavar="SQL")
    ] = o.NONE,
    master: Annotated[
        str, o.opt("Run on this cluster (default: as Spark is set up).", "--master", metavar="URL")
    ] = "",
    once: Annotated[bool, o.opt("Take what is there and exit.", "--once")] = False,
    every: Annotated[str, o.opt("Start a micro-batch this often.", metavar="DURATION")] = "10s",
    patterns: o.Patterns = o.NONE,
    as_json: o.AsJson = False,
    keep_text: Annotated[bool, o.opt("Store texts too.", "--keep-text")] = False,
    rejected: Annotated[str, o.opt("Append refused rows to this file.", metavar="FILE")] = REJECTED,
    fail_on: o.FailOn = "",
    config: o.Config = "",
    source: o.Source = "",
    scorers: o.Scorers = o.NONE,
    parameters: o.Parameters = o.NONE,
    plugins: o.Plugins = o.NONE,
) -> None:
    """Take events of a stream of Spark into a store; report detections.

    After a crash the same command continues: every event is in the store once, by its id.
    """
    pause = o.seconds_of(every, "--every") or 0.0
    if pause <= 0:
        raise BadUsage("invalid --every: expected more than 0 seconds")
    given = dict(_pair(text) for text in reader_options)
    options = o.InputOptions((), "", config, source, False, scorers, parameters, fail_on, as_json)
    loaded = options.loaded()
    settings, library = loaded.settings, load_library(patterns or None, loaded)
    with open_store(store, create=True) as opened:
        if opened.private() is not None:
            raise BadUsage("this store keeps people under other names: a stream needs one that does not")
        writer = EventWriter(opened, settings, keep_text=keep_text, rejected=rejected)
        sweeps = Sweeps(opened, library, settings, mutes=options.mutes(loaded))
        grave, errors = list[str](), list[BaseException]()

        def report(done: Sweep) -> None:
            if settings.fail_on is not None and done.at_or_above(settings.fail_on):
                grave.append(settings.fail_on)
            report_changes([(item.change, item.detection) for item in done.changes], as_json=as_json)

        def write(lines: list[Line]) -> None:
            with _noted(errors):
                warn_refused(writer.write(lines, o.now()).refused, rejected, as_json=as_json)

        def sweep() -> None:
            with _noted(errors):
                while not sweeps.run(o.now, report):
                    time.sleep(WAIT)

        before = signal.getsignal(signal.SIGINT)
        session = spark_.session(master)
        if signal.getsignal(signal.SIGINT) is not before:
            signal.signal(signal.SIGINT, before)  # that of Spark breaks off the call it falls into
        query = None
        try:
            frame = spark_.read_stream(session, form, source_of, given, select)
            query = spark_.write_stream(
                frame,
                write,
                sweep,
                checkpoint=checkpoint,
                kinds=library.kinds,
                limits=writer.limits,
                every=None if once else pause,
            )
            with Interrupts() as interrupts:
                while interrupts.none() and not query.awaitTermination(WAIT):
                    pass
        except KeyboardInterrupt:
            if query is not None:
                query.stop()
        except EthogramError:
            raise
        except Exception as error:
            raise errors[0] if errors else EthogramError(_first_line(error)) from None
    if grave:
        raise click.exceptions.Exit(o.FAIL)


@contextmanager
def _noted(errors: list[BaseException]) -> Iterator[None]:
    """Note an error on its way through Spark, which makes a trace of it."""
    try:
        yield
    except EthogramError as error:
        errors.append(error)
        raise


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise BadUsage(f"invalid --option {text!r:.80}: expected NAME=VALUE")
    return name, value


def _first_line(error: Exception) -> str:
    return f"Spark: {(str(error).strip() or type(error).__name__).splitlines()[0][:300]}"
