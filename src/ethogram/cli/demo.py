"""`ethogram demo`: what is found in the examples that ship with the package."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from .inputs import AsJson
from .output import printable, write_json, write_line

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

    from ..app.analyze import Analysis
    from ..app.demo import Example
    from ..ingest import Batch
    from ..models import Detection


FOLDER = "ethogram-examples"

Looked = tuple["Example", "Batch", "Analysis"]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("demo")(demo)


def demo(
    as_json: AsJson = False,
    copy: Annotated[str, typer.Option(metavar="DIR", help="Write the example files into this folder.")] = "",
    html: Annotated[str, typer.Option(metavar="FILE", help="Write the report as one HTML file too.")] = "",
) -> None:
    """Show what is found in a few small examples."""
    if copy:
        _copy(copy, as_json=as_json)
        return
    from .text import show

    looked = look(traced=bool(html))
    if html:
        _write_html(html, looked)
    if as_json:
        for example, _, analysis in looked:
            for record in analysis.to_dicts():
                write_json({**record, "example": example.family})
        return
    show(*demo_parts(looked))
    if html:
        write_line(f"\nThe report as a page: {printable(html)}")


def look(*, traced: bool = False) -> list[Looked]:
    """Every example with its events and what was found in them, by the patterns that are on by default."""
    from ..app.analyze import analyze_batch, load_library
    from ..app.demo import examples
    from ..config import Settings
    from ..ingest import read_events

    found = examples()
    library = load_library(None, Settings())
    batches = [read_events([one.path], source=one.family, kinds=library.kinds) for one in found]
    return [
        (one, batch, analyze_batch(batch, library, traced=traced))
        for one, batch in zip(found, batches, strict=True)
    ]


def _write_html(path: str, looked: Sequence[Looked]) -> None:
    from dataclasses import replace

    from ..app.analyze import load_library
    from ..app.demo import together
    from ..app.runs import run_report
    from ..config import Settings
    from .html import write_html

    events = tuple(event for _, batch, _ in looked for event in batch.events)
    batch = replace(looked[0][1], events=events)
    analysis = together([analysis for _, _, analysis in looked])
    runs = run_report(analysis.detections, events)
    write_html(path, analysis, load_library(None, Settings()), batch, runs=runs)


def demo_parts(looked: Sequence[Looked]) -> Iterator[RenderableType]:
    """A headline for each example, what was found in it, and what to try next."""
    from rich.text import Text

    from ..report.words import gravest_first
    from .report import untimed_sources
    from .text import plural

    for example, batch, analysis in looked:
        yield Text(example.headline, style="bold underline")
        who = f"{plural(analysis.events, 'event')} of {plural(analysis.subjects, 'subject')}"
        yield f"{who} in {example.path.name}" + ("" if analysis.detections else ": nothing was found")
        untimed = untimed_sources(batch)
        for one in gravest_first(without_early(analysis.detections)):
            yield from _detection(one, timed=one.source not in untimed)
        yield ""
    yield "Try next:"
    for command in _next(FOLDER, [example.path for example, _, _ in looked], looked):
        yield f"  {command}"


def without_early(detections: Sequence[Detection]) -> list[Detection]:
    """Detections without those of a pattern's first steps that went on to the whole pattern."""
    whole = {(one.pattern, tuple(one.history.items())) for one in detections}
    return [
        one
        for one in detections
        if "@" not in one.pattern or (one.pattern.partition("@")[0], tuple(one.history.items())) not in whole
    ]


def _detection(one: Detection, *, timed: bool) -> Iterator[RenderableType]:
    from rich.text import Text

    from ..report.words import sentence, whom
    from .text import STYLES, clean, span

    title = (clean(one.title or one.pattern), "bold")
    yield Text.assemble("  ", (one.severity.upper(), STYLES[one.severity]), "  ", title, f"  {whom(one)}")
    yield Text(f"    {sentence(one)}")
    shown = sum(1 for _ in one.evidence)
    yield Text(
        f"    {span(one.opened_at, one.closed_at, timed=timed)}; evidence: {shown} "
        f"{'entry' if shown == 1 else 'entries'}; confidence {one.confidence:.2f}"
    )
    if one.recommendation:
        yield Text(f"    What to do: {clean(one.recommendation)}")


def _next(folder: str, paths: Sequence[Path], looked: Sequence[Looked] = ()) -> list[str]:
    """Commands that work as they stand, once the examples are in the folder."""
    first = next((one for one in looked if one[2].detections), None)
    name = paths[0].name if first is None else first[0].path.name
    path = shlex.quote(f"{folder}/{name}")
    last = shlex.quote(f"{folder}/{paths[-1].name}")
    commands = [f"ethogram analyze {path}", f"ethogram analyze {last} --json"]
    if first is not None:
        found = first[2].detections[0]
        asked = f"{shlex.quote(found.pattern)} {shlex.quote(printable(found.subject))}"
        commands.append(f"ethogram why {asked} {path}")
    copying = [f"ethogram demo --copy {shlex.quote(folder)}"] if looked else []
    page = ["ethogram demo --html ethogram-report.html"] if looked else []
    return [*copying, *commands, *page, "ethogram patterns list"]


def _copy(folder: str, *, as_json: bool) -> None:
    from pathlib import Path

    from ..app.demo import copy_examples
    from ..patterns.listing import FileWritten

    written = copy_examples(Path(folder))
    if as_json:
        for path in written:
            write_json(FileWritten(path=str(path)))
        return
    for path in written:
        write_line(printable(str(path)))
    write_line("\nTry next:")
    for command in _next(folder, written):
        write_line(f"  {printable(command)}")
