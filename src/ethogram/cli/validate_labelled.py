"""`ethogram validate FILE`: how well patterns tell targets from the rest in any labelled data."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .inputs import AsJson, Asked, Config, Parameters, Scorers, SkipBad
from .output import printable, write_json, write_line

if TYPE_CHECKING:
    from ..app.labels import Label, LabelledSet
    from ..config import Loaded
    from ..models import Detection, Event
    from .progress import Progress


class ByDefault(typer.core.TyperGroup):
    """A group in which whatever is no command is a set: `validate FILE` is `validate labelled FILE`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command meant, with its arguments."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            args = ["labelled", *args]
        return super().resolve_command(ctx, args)


def labelled(
    given: Annotated[
        str, typer.Argument(metavar="SET|FILE", help="Labels, or events with labels beside them.")
    ],
    data: Annotated[
        list[str],
        typer.Option("--data", metavar="PATH", help="Events, where they are elsewhere; repeatable."),
    ] = [],  # noqa: B006 (typer copies it)
    patterns: Annotated[
        list[str], typer.Option("--patterns", metavar="SELECTOR", help="Without it, those that are on.")
    ] = [],  # noqa: B006
    against: Annotated[
        list[str],
        typer.Option("--against", metavar="SELECTOR", help="Another version, compared on the same things."),
    ] = [],  # noqa: B006
    label: Annotated[
        str,
        typer.Option(
            "--label", metavar="ATTRIBUTE=VALUE[,VALUE]", help="Threads are labelled by an attribute."
        ),
    ] = "",
    split: Annotated[str, typer.Option(metavar="NAME", help="Only the labels of this split.")] = "",
    severity: Annotated[
        str, typer.Option(metavar="SEVERITY", help="Only detections at or above it.")
    ] = "any",
    scorers: Scorers = [],  # noqa: B006
    parameters: Parameters = [],  # noqa: B006
    skip_bad: SkipBad = False,
    as_json: AsJson = False,
    config: Config = "",
) -> None:
    """Precision, recall, false alarms, AUROC, horizon and recovery on your own labels."""
    from ..app import validate as validating
    from ..app.labels import things_of
    from .progress import Progress
    from .validate import digest
    from .validate_labelled_text import lines, too_little

    found, progress = _located(given, data, label), Progress()
    _check_severity(severity)
    asked = Asked(
        [str(one) for one in found.events], "", config, "", skip_bad, scorers, parameters, "", as_json
    )
    loaded = asked.loaded()
    events, names, detections = _found(asked, loaded, patterns, progress)
    labels = _in_split(_labels(found, label, events), split)
    told = things_of(labels, events, found.labels or found.events[0])
    with progress.checking("comparing with the labels"):
        records = list(validating.validate_labelled(found.name, told, detections, names, severity))
        if against:
            _, known, others = _found(_plain(asked), _plain(asked).loaded(), against, progress)
            records += validating.compared(found.name, told, others, detections, severity, (known, names))
    records.append(validating.summary(found.name, told, names, severity, digest(found.files)))
    if warning := too_little(records):
        write_line(f"warning: {warning}", to=sys.stderr)
    if as_json:
        for record in records:
            write_json(record)
        return
    for line in lines(records):
        write_line(printable(line))


def _located(given: str, data: Sequence[str], label: str) -> LabelledSet:
    import os

    from ..app.labels import located
    from .validate import DATA

    return located(given, data, os.environ.get(DATA, ""), in_events=bool(label))


def _check_severity(severity: str) -> None:
    from ..errors import BadUsage, did_you_mean
    from ..models import SEVERITIES

    known = ("any", *SEVERITIES)
    if severity not in known:
        raise BadUsage(
            f"--severity is one of {', '.join(known)}, not {severity[:40]!r}{did_you_mean(severity, known)}"
        )


def _plain(asked: Asked) -> Asked:
    """The same without parameters of its own: what a version is compared with is as its file says."""
    from dataclasses import replace

    return replace(asked, parameters=())


def _found(
    asked: Asked, loaded: Loaded, selectors: Sequence[str], progress: Progress
) -> tuple[Sequence[Event], list[str], list[Detection]]:
    """The events, the names of what was looked for, and all that was found."""
    from ..app.analyze import analyze_batch, load_library
    from .text import plural

    library = load_library(list(selectors) or None, loaded)
    batch = asked.read(library, loaded.settings, progress)
    with progress.checking(f"checking {plural(len(batch.events), 'event')}"):
        analysis = analyze_batch(batch, library, settings=loaded.settings)
    return batch.events, [one.pattern for one in analysis.checked], analysis.every


def _labels(found: LabelledSet, label: str, events: Sequence[Event]) -> list[Label]:
    from ..app.labels import labels_in, read_labels
    from ..errors import BadUsage

    if found.labels is not None:
        return read_labels(found.labels)
    attribute, equals, values = label.partition("=")
    if not (attribute and equals and values):
        raise BadUsage(f"--label takes ATTRIBUTE=VALUE, like label=failed; here is {label[:80]!r}")
    return labels_in(events, attribute, frozenset(values.split(",")))


def _in_split(labels: list[Label], split: str) -> list[Label]:
    from ..errors import BadUsage

    own = [one for one in labels if split in ("", one.split)]
    if not own:
        there = ", ".join(sorted({one.split for one in labels} - {""})) or "none"
        raise BadUsage(f"no label is in the split {split[:80]!r}; splits: {there[:200]}")
    return own
