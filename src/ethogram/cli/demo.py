"""`ethogram demo`: what is detected in the examples that ship with the package."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ..app.analyze import analyze_batch, load_library
from ..app.demo import Example, copy_examples, examples, labelled, together
from ..app.result import Analysis
from ..app.runs import run_report
from ..config import Settings
from ..ingest import Batch, read_events
from ..ingest.batch import EventList
from ..models import Detection
from ..patterns.listing import FileWritten
from ..report.coverage import Coverage
from ..report.text import detection_row
from ..report.wording import plural, printable, ranked, sentence
from .options import AsJson, Html, opt
from .output import Target, emit, show, write_json, write_line

if TYPE_CHECKING:
    from rich.console import RenderableType


FOLDER = "ethogram-examples"

Analysed = tuple[Example, Batch, Analysis]


def demo(
    copy: Annotated[str, opt("Write the example files into this folder.", metavar="DIR")] = "",
    html: Html = "",
    as_json: AsJson = False,
) -> None:
    """Show what is detected in small examples."""
    if copy:
        written = copy_examples(Path(copy))
        files = [printable(str(path)) for path in written]
        commands = [f"  {printable(command)}" for command in _next(copy, examples())]
        records = (FileWritten(path=str(path)) for path in written)
        emit(records, [*files, "", "Try next:", *commands], as_json=as_json)
        return
    target = Target("--html", html) if html else None
    library, analysed = load_library(None, Settings()), list[Analysed]()
    for example in examples():
        batch = read_events([example.path], source=example.family, kinds=library.kinds)
        analysed.append((example, batch, labelled(analyze_batch(batch, library, traced=bool(html)))))
    if target is not None:
        from ..report.html import page

        events = EventList(event for _, batch, _ in analysed for event in batch.events)
        whole = together([analysis for _, _, analysis in analysed])
        coverage = Coverage.of(whole, library, replace(analysed[0][1], events=events))
        target.write([page(whole, coverage, runs=run_report(whole.detections, events))])
    if as_json:
        for example, _, analysis in analysed:
            for record in analysis.to_dicts():
                write_json({**record, "example": example.family})
        return
    show(*demo_parts(analysed))
    if html:
        write_line(f"\nHTML report: {printable(html)}")


def demo_parts(analysed: Sequence[Analysed]) -> Iterator[RenderableType]:
    """A headline for each example, its detections, and what to try next."""
    from rich.text import Text

    for example, batch, analysis in analysed:
        yield Text(example.titled(analysis), style="bold underline")
        counts = f"{plural(analysis.events, 'event')} of {plural(analysis.subjects, 'subject')}"
        yield f"{counts} in {example.path.name}" + ("" if analysis.detections else ": no detections")
        untimed = batch.events.untimed_sources()
        for detection in ranked(without_early(analysis.detections)):
            yield Text.assemble("  ", *detection_row(detection, timed=detection.source not in untimed))
            yield Text(f"    {sentence(detection)}")
        yield ""
    yield "Try next:"
    for command in _next(FOLDER, [example for example, _, _ in analysed], analysed):
        yield f"  {command}"


def without_early(detections: Sequence[Detection]) -> list[Detection]:
    """Detections without those of a pattern's first steps that went on to the whole pattern."""
    whole = {(detection.pattern, tuple(detection.history.items())) for detection in detections}
    return [
        detection
        for detection in detections
        if "@" not in detection.pattern
        or (detection.pattern.partition("@")[0], tuple(detection.history.items())) not in whole
    ]


def _next(folder: str, shown: Sequence[Example], analysed: Sequence[Analysed] = ()) -> list[str]:
    """Commands that work as they stand, once the examples are in the folder."""
    example = next((each for each in shown if not each.has_scores_by_hand), shown[0])
    path = shlex.quote(f"{folder}/{example.path.name}")
    commands = [f"ethogram analyze {path}", f"ethogram analyze {path} --json"]
    for detection in (item for each, _, analysis in analysed if each == example for item in analysis):
        subject = shlex.quote(printable(detection.subject))
        commands.append(f"ethogram why {shlex.quote(detection.pattern)} {subject} {path}")
        break
    copying = [f"ethogram demo --copy {shlex.quote(folder)}"] if analysed else []
    page = ["ethogram demo --html ethogram-report.html"] if analysed else []
    return [*copying, *commands, *page, "ethogram patterns list"]
