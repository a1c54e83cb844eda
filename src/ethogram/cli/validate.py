"""`ethogram patterns validate`: how well patterns tell targets from the rest in labelled data."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from ..app.analyze import analyze_batch, load_library
from ..app.judging import validate as validating
from ..app.judging.labelled_items import join_labels
from ..app.judging.labels import Label, LabelledSet, labels_in, locate_set, read_labels
from ..config import Loaded
from ..errors import BadUsage
from ..models import SEVERITIES, Detection, Event
from ..report.patterns import labelled_lines, too_little
from ..report.wording import plural, printable
from . import options as o
from .output import Progress, emit, write_line

DATA = "ETHOGRAM_DATA"
"""The variable that names the folder of data where --data does not."""


def validate(
    labels: Annotated[str, o.arg("Read labels, or events with labels beside them.", "SET|FILE")],
    data: Annotated[list[str], o.opt("Read events from here.", "--data", metavar="PATH")] = o.NONE,
    patterns: o.Patterns = o.NONE,
    against: Annotated[
        list[str], o.opt("Compare with another version.", "--against", metavar="SELECTOR")
    ] = o.NONE,
    label: Annotated[
        str, o.opt("Label threads by an attribute.", "--label", metavar="ATTRIBUTE=VALUE[,VALUE]")
    ] = "",
    split: Annotated[str, o.opt("Use the labels of this split.", metavar="NAME")] = "",
    severity: Annotated[str, o.opt("Count detections at or above SEVERITY.", metavar="SEVERITY")] = "any",
    as_json: o.AsJson = False,
    skip_bad: o.SkipBad = False,
    config: o.Config = "",
    scorers: o.Scorers = o.NONE,
    parameters: o.Parameters = o.NONE,
) -> None:
    """Measure precision and recall of patterns on labelled data."""
    labelled = locate_set(labels, data, os.environ.get(DATA, ""), in_events=bool(label))
    progress = Progress()
    o.check_word("--severity", severity, ("any", *SEVERITIES))
    paths = [str(path) for path in labelled.events]
    options = o.InputOptions(paths, "", config, "", skip_bad, scorers, parameters, "", as_json)
    events, names, detections = _detections(options, options.loaded(), patterns, progress)
    chosen = _in_split(_labels(labelled, label, events), split)
    things = join_labels(chosen, events, labelled.labels or labelled.events[0])
    with progress.checking("comparing with the labels"):
        records = list(validating.validate_labelled(labelled.name, things, detections, names, severity))
        if against:
            # Without parameters of its own: the other version counts as its file has it.
            plain = replace(options, parameters=())
            _, known, others = _detections(plain, plain.loaded(), against, progress)
            records += validating.compare_labelled(
                labelled.name, things, others, detections, severity, (known, names)
            )
    records.append(validating.summary(labelled.name, things, names, severity, digest(labelled.files)))
    if warning := too_little(records):
        write_line(f"warning: {warning}", to=sys.stderr)
    emit(records, map(printable, labelled_lines(records)), as_json=as_json)


def digest(files: Iterable[Path]) -> str:
    """A digest of the names and contents of files, to tie figures to the data they come from."""
    whole = hashlib.sha256()
    for file in sorted(files):
        whole.update(file.name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()[:16]


def _detections(
    options: o.InputOptions, loaded: Loaded, selectors: Sequence[str], progress: Progress
) -> tuple[Sequence[Event], list[str], list[Detection]]:
    """The events, the names of the checked patterns, and all detections."""
    library = load_library(list(selectors) or None, loaded)
    batch = options.read(library.kinds, loaded.settings, progress)
    with progress.checking(f"checking {plural(len(batch.events), 'event')}"):
        analysis = analyze_batch(batch, library, settings=loaded.settings)
    return batch.events, [row.pattern for row in analysis.checked], analysis.every


def _labels(labelled: LabelledSet, label: str, events: Sequence[Event]) -> list[Label]:
    if labelled.labels is not None:
        return read_labels(labelled.labels)
    attribute, equals, values = label.partition("=")
    if not (attribute and equals and values):
        raise BadUsage(f"invalid --label {label[:80]!r}: expected ATTRIBUTE=VALUE, like label=failed")
    return labels_in(events, attribute, frozenset(values.split(",")))


def _in_split(labels: list[Label], split: str) -> list[Label]:
    own = [label for label in labels if split in ("", label.split)]
    if not own:
        there = ", ".join(sorted({label.split for label in labels} - {""})) or "none"
        raise BadUsage(f"no label is in the split {split[:80]!r}; splits: {there[:200]}")
    return own
