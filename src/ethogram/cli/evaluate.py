"""`ethogram signals scan` and `ethogram evaluate`: which messages are worth scoring, and their scores."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import click

from ..app.analyze import load_library
from ..app.evaluation.records import EvaluationRecord, NotMeasuredRecord
from ..app.evaluation.scoring import Evaluated
from ..app.evaluation.triage import prompt_for, route_record, scan_events
from ..errors import BadUsage
from ..evaluators.recorded import text_digest
from ..lexicon.triage import Route
from ..models import Event
from ..models.redaction import mask
from ..patterns.listing import Prompt
from ..report.rendering import rendered
from ..report.wording import printable
from ..store import Store, open_store
from . import options as o
from .output import Progress, Target, emit, json_line, write_json, write_lines
from .scoring import NO_SCORING, ScoringOptions

if TYPE_CHECKING:
    from ..config import Settings
    from ..ingest import Batch
    from ..patterns.library import Library


NO_TEXTS = "name the files (they are scored before their texts are dropped), or import them with --keep-text"


def scan(
    options: Annotated[o.InputOptions, o.READING],
    show_prompt: Annotated[str, o.opt("Print the prompt for the message with this id.", metavar="ID")] = "",
    sample: Annotated[float, o.opt("Also count this share of unflagged messages.", min=0.0, max=1.0)] = 0.01,
    messages: Annotated[bool, o.opt("List every message worth scoring.", "--messages")] = False,
) -> None:
    """Scan messages for phrases: which to score, and at what cost."""
    progress = Progress()
    batch = options.read({}, options.settings(), progress)
    if show_prompt:
        system, user = prompt_for(batch.events, show_prompt, sampled=sample)
        if options.as_json:
            write_json(Prompt(id=show_prompt, system=system, user=user))
        else:
            write_lines(map(printable, f"{system}\n\n{user}".split("\n")))
        return
    routes: list[Route] = []
    with progress.checking("scanning"):
        result = scan_events(batch.events, sampled=sample, chosen=routes.append if messages else None)
    skipped = dict(batch.skipped)
    result.left_out, result.bad_lines = skipped, batch.bad_count
    lines = rendered("scan", routes=routes, scan=result, summary=result.to_dict(), skipped=skipped)
    emit([*map(route_record, routes), result], lines, as_json=options.as_json)


def evaluate(
    options: Annotated[o.InputOptions, "paths as_json as_of skip_bad config source plugins"],
    evaluator: Annotated[str, o.opt("Score with local, anthropic, openai, ...", metavar="NAME")] = "",
    output: Annotated[str, o.opt("Write all events with their scores.", metavar="FILE")] = "",
    record: Annotated[str, o.opt("Write the answers, for the evaluator `recorded`.", metavar="FILE")] = "",
    store: Annotated[
        str, o.opt("Import the files, and keep the scores in this store.", "--store", metavar="URL")
    ] = "",
    keep_text: Annotated[bool, o.opt("With --output or --store: keep the texts too.", "--keep-text")] = False,
    quotes: Annotated[bool, o.opt("With --json: quote the indicators, masked.", "--quotes")] = False,
    scoring: ScoringOptions = NO_SCORING,
) -> None:
    """Score flagged messages: twelve traits and their indicators.

    With --store the scores are kept there. Without files, messages with a stored text are scored.
    """
    paths, as_json = options.paths, options.as_json
    if not paths and not store:
        raise click.BadParameter("missing input: name files or folders of events, or a --store")
    named = (("--output", output), ("--record", record))
    targets = {name: Target(name, path, inputs=paths) for name, path in named if path}
    if len(targets) == 2 and targets["--output"].is_same(record):
        raise click.BadParameter("--output and --record must be two files")
    if keep_text and not output and not (store and paths):
        raise click.BadParameter("--keep-text needs --output, or --store and files to import")
    if quotes and not as_json:
        raise click.BadParameter("--quotes needs --json")
    loaded = options.loaded()
    settings = replace(loaded.settings, evaluator=loaded.settings.evaluator or "local")
    library, progress, moment = load_library(None, loaded), Progress(), options.moment()
    ask = scoring.make(evaluator, settings, library, progress)
    if ask is None:
        raise click.BadParameter("--evaluator none scores nothing: name an evaluator, like local")
    with o.stdin_copy(paths, store), ExitStack() as stack:
        opened = stack.enter_context(open_store(store, create=bool(paths))) if store else None
        if opened is not None:
            from .store import run_import

            o.note_all(opened, "evaluate")
            if paths:
                run_import(opened, options, settings, keep_text=keep_text)
        events = _events(options, library, settings, opened, progress, ask.evaluator.scorer)
        try:
            if opened is None:
                result = ask.evaluate(events, moment)
            else:
                from ..app.evaluation.stored import score

                result = score(opened, events, ask, moment)
        finally:
            progress.stop()
    if output:
        lines = (_line(result.readings_of(event), keep_text=keep_text) for event in events.events)
        targets["--output"].write(map(json_line, lines))
    if record:
        targets["--record"].write(map(json_line, evaluation_records(result, events.events)))
    if as_json:
        for line in evaluation_records(result, events.events, quotes=quotes):
            write_json(line)
        for (where, name), why in result.missing.items():
            write_json(NotMeasuredRecord(source=where, id=name, reason=why.reason))
        write_json(result.to_dict())
    else:
        missing = [(name, why) for (_, name), why in result.missing.items()]
        final = Counter(why.reason for _, why in missing if why.final).most_common()
        again = [(name, why.reason) for name, why in missing if not why.final]
        files = {"output": output, "store": store, "recorded": record}
        write_lines(
            rendered("evaluate", result=result, record=result.to_dict(), final=final, again=again, **files)
        )
    result.must_not_have_stopped()
    result.must_have_scored()


def _events(
    options: o.InputOptions,
    library: Library,
    settings: Settings,
    store: Store | None,
    progress: Progress,
    scorer: str,
) -> Batch:
    """The events of the paths or, without paths, all of the store."""
    if options.paths:
        if store is not None and "-" in options.paths:
            sys.stdin.buffer.seek(0)  # a copy, see `stdin_copy`
        return options.read(library.kinds, settings, progress)
    from ..ingest import Batch

    assert store is not None
    if not store.has_texts():
        raise BadUsage(f"{store.url} has no texts to score: {NO_TEXTS}")
    return Batch(store.columns(scorers={"*": scorer}))


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
