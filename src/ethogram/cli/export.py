"""`ethogram export-scores` and `--export`: detections as scores in other tools."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated

import click

from ..errors import BadUsage
from ..integrations.exporters.base import Exporter, Record, make, parse, read_records, send_all
from ..report.wording import clean, plural
from ..store import open_store
from . import options as o
from .errors import INTERNAL, warn
from .output import write_json, write_line

Sink = Callable[[Record], str]
"""Takes the record of a detection with its change; '' or why it could not be delivered."""
Exports = Annotated[
    list[str],
    o.opt(
        "Send detections as scores: phoenix, langfuse, otel.", "--export", metavar="NAME=URL", panel=o.OUTPUT
    ),
]


def export_scores(
    path: Annotated[str, o.arg("Read detections, as analyze --json prints them.", "[FILE]")] = "",
    to: Annotated[str, o.opt("Send to phoenix, langfuse, otel, ...", metavar="NAME")] = "",
    url: Annotated[str, o.opt("Name the server; https or this machine.", metavar="URL")] = "",
    store: Annotated[str, o.opt("Send the detections of this store.", metavar="URL")] = "",
    severity: Annotated[str, o.opt("Select this severity and above.", metavar="SEVERITY")] = "",
    as_json: o.AsJson = False,
    config: o.Config = "",
    plugins: o.Plugins = o.NONE,
) -> None:
    """Send detections as scores to Phoenix, Langfuse or OpenTelemetry.

    A detection that is sent again replaces its score. Keys are taken from the environment.
    """
    if bool(path) == bool(store):
        raise BadUsage("expected a FILE of detections (- is standard input) or --store, and not both")
    for option, value in (("--to", to), ("--url", url)):
        if not value:
            raise BadUsage(f"missing {option}: expected it, like --to phoenix --url http://localhost:6006")
    exporter = make(to, url)
    records = _from_store(store, severity, config) if store else _from_file(path, severity)

    def failed(record: Record, why: str) -> None:
        warn(f"not delivered: detection {clean(record['id'])}: {why}", as_json=as_json)

    done = send_all(to, exporter, records, failed)
    if as_json:
        write_json(done)
    else:
        bad = f", {done.failed} not delivered" if done.failed else ""
        left = f", {done.left} not tried" if done.left else ""
        write_line(f"{plural(done.sent, 'detection')} sent to {to}{bad}{left}.")
    if done.failed:
        raise click.exceptions.Exit(INTERNAL)


def _from_store(store: str, severity: str, config: str) -> list[Record]:
    from ..app.findings import find_page

    settings = o.load_config(config).settings
    with open_store(store) as opened:
        if opened.private() is not None:
            raise BadUsage("this store keeps people under other names: nothing of it is sent elsewhere")
        page = find_page(opened, severity=severity or None, settings=settings)
        sources = opened.sources()
        return [item.to_dict(timed=sources[item.source].timed) for item in page.detections]


def _from_file(path: str, severity: str) -> list[Record]:
    from ..models import SEVERITIES, rank

    if severity:
        o.check_word("--severity", severity, SEVERITIES)
    if path == "-":
        records = read_records(sys.stdin, path)
    else:
        with open(path, encoding="utf-8", errors="replace") as lines:
            records = read_records(lines, path)
    return [item for item in records if not severity or rank(item["severity"]) >= rank(severity)]


def sinks_of(exports: Sequence[str]) -> Iterator[Sink]:
    """What takes a detection for each `--export NAME=URL`; '' or why it was not delivered."""
    for text in exports:
        exporter: Exporter = make(*parse(text))
        yield exporter.send
