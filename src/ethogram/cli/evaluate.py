"""`ethogram scan` and `ethogram evaluate`: which messages are worth scoring, and their scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Annotated, Any

import click

from ..app.analyze import load_library
from ..app.evaluation.records import EvaluationRecord, NotMeasuredRecord
from ..app.evaluation.scoring import Evaluated
from ..app.evaluation.triage import prompt_for, route_record, scan_events
from ..evaluators.recorded import text_digest
from ..lexicon.triage import Route
from ..models import Event
from ..models.redaction import mask
from ..patterns.listing import Prompt
from ..report.scoring import evaluation_lines, scan_lines
from ..report.wording import printable
from . import options as o
from .output import Progress, Target, write_json, write_line, write_lines


def scan(
    paths: o.Paths,
    show_prompt: Annotated[str, o.opt("Print the prompt for the message with this id.", metavar="ID")] = "",
    sample: Annotated[float, o.opt("Also count this share of unflagged messages.", min=0.0, max=1.0)] = 0.01,
    messages: Annotated[bool, o.opt("List every message worth scoring.", "--messages")] = False,
    as_json: o.AsJson = False,
    skip_bad: o.SkipBad = False,
    config: o.Config = "",
    source: o.Source = "",
) -> None:
    """Scan messages for phrases: which to score, and at what cost."""
    options = o.InputOptions(paths, config=config, source=source, skip_bad=skip_bad, as_json=as_json)
    progress = Progress()
    batch = options.read({}, options.settings(), progress)
    if show_prompt:
        system, user = prompt_for(batch.events, show_prompt, sampled=sample)
        if as_json:
            write_json(Prompt(id=show_prompt, system=system, user=user))
        else:
            write_lines(map(printable, f"{system}\n\n{user}".split("\n")))
        return
    routes: list[Route] = []
    with progress.checking("scanning"):
        result = scan_events(batch.events, sampled=sample, chosen=routes.append if messages else None)
    skipped = dict(batch.skipped)
    if as_json:
        for route in routes:
            write_json(route_record(route))
        write_json(result.summary(left_out=skipped, bad_lines=batch.bad_count))
        return
    for route in routes:
        why = ", ".join(route.scan.by_category or {}) or ("sampled" if route.sampled else "")
        write_line(printable(f"{route.tier:18} {route.event.id}  {route.event.subject}: {why}"))
    write_lines(scan_lines(result))
    write_lines(f"skipped: {count} x {printable(what)}" for what, count in skipped.items())


def evaluate(
    paths: o.Paths,
    evaluator: Annotated[str, o.opt("Score with local, anthropic, openai, ...", metavar="NAME")] = "",
    output: Annotated[str, o.opt("Write all events with their scores.", metavar="FILE")] = "",
    record: Annotated[str, o.opt("Write the answers, for the evaluator `recorded`.", metavar="FILE")] = "",
    keep_text: Annotated[bool, o.opt("With --output: write the texts too.", "--keep-text")] = False,
    quotes: Annotated[bool, o.opt("With --json: quote the indicators, masked.", "--quotes")] = False,
    as_json: o.AsJson = False,
    as_of: o.AsOf = "",
    skip_bad: o.SkipBad = False,
    config: o.Config = "",
    source: o.Source = "",
    scoring: o.ScoringOptions = o.NO_SCORING,
) -> None:
    """Score flagged messages: twelve traits and their indicators."""
    named = (("--output", output), ("--record", record))
    targets = {name: Target(name, path, inputs=paths) for name, path in named if path}
    if len(targets) == 2 and targets["--output"].is_same(record):
        raise click.BadParameter("--output and --record must be two files")
    if keep_text and not output:
        raise click.BadParameter("--keep-text needs --output")
    if quotes and not as_json:
        raise click.BadParameter("--quotes needs --json")
    options = o.InputOptions(paths, as_of, config=config, source=source, skip_bad=skip_bad, as_json=as_json)
    loaded = options.loaded()
    settings = replace(loaded.settings, evaluator=loaded.settings.evaluator or "local")
    library, progress, moment = load_library(None, loaded), Progress(), options.moment()
    ask = scoring.make(evaluator, settings, library, progress)
    if ask is None:
        raise click.BadParameter("--evaluator none scores nothing: name an evaluator, like local")
    events = options.read(library.kinds, settings, progress)
    try:
        scored, result = ask(events, moment)
    finally:
        progress.stop()
    if output:
        targets["--output"].write(_line(event, keep_text=keep_text) for event in scored.events)
    if record:
        targets["--record"].write(evaluation_records(result, events.events))
    if as_json:
        for line in evaluation_records(result, events.events, quotes=quotes):
            write_json(line)
        for (where, name), why in result.missing.items():
            write_json(NotMeasuredRecord(source=where, id=name, reason=why.reason))
        write_json(result.to_dict())
    else:
        write_lines(evaluation_lines(result))
        if output:
            by = f"--scorer {printable(result.scorer)}"
            write_line(f"events with scores: {printable(output)} (beside other scores, {by} selects them)")
        if record:
            write_line(f"answers: {printable(record)}")
    result.must_not_have_stopped()
    result.must_have_scored()


def evaluation_records(
    result: Evaluated, events: Iterable[Event], *, quotes: bool = False
) -> Iterator[dict[str, Any]]:
    """One `evaluation` record for every scored message, in order of time."""
    for event in events:
        key = (event.source, event.id)
        answer, text = result.answers.get(key), event.text
        if answer is None or text is None:
            continue
        if quotes:
            quoted = (replace(sign, quote=mask(text[sign.start : sign.end])) for sign in answer.indicators)
            answer = replace(answer, indicators=tuple(quoted))
        yield EvaluationRecord(
            source=event.source,
            id=event.id,
            subject=event.subject,
            tier=result.tiers[key],
            text_digest=text_digest(text),
            answer=answer,
        ).to_dict()


def _line(event: Event, *, keep_text: bool) -> dict[str, Any]:
    record = event.to_dict()
    if not keep_text:
        record.pop("text", None)
        record.get("attributes", {}).pop("title", None)
    return record
