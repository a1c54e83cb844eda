"""`ethogram evaluate`: scores of the messages that earn it, kept as readings for any analysis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .asked_evaluator import AnswersFile, AskedEvaluator, Budget, InBatches, Options, Sample, SampleBy
from .inputs import AsJson, Asked, AsOf, Config, Paths, SkipBad, Source
from .output import printable, write_json, write_line

if TYPE_CHECKING:
    from ..app.evaluation.scoring import Evaluated
    from ..models import Event
    from .target import Target


MOST = 20
"""Messages without an answer that are named one by one."""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("evaluate")(evaluate)


def evaluate(
    paths: Paths,
    evaluator: Annotated[
        str, typer.Option(metavar="NAME", help="Who scores: local, anthropic, openai, ...")
    ] = "",
    as_json: AsJson = False,
    output: Annotated[
        str, typer.Option(metavar="FILE", help="Write all events with the scores as readings, one a line.")
    ] = "",
    record: Annotated[
        str, typer.Option(metavar="FILE", help="Write the answers, for the evaluator `recorded`.")
    ] = "",
    keep_text: Annotated[bool, typer.Option("--keep-text", help="With --output: the texts too.")] = False,
    quotes: Annotated[
        bool, typer.Option("--quotes", help="With --json: the words behind each indicator, masked.")
    ] = False,
    budget: Budget = None,
    batch: InBatches = False,
    option: Options = [],  # noqa: B006 (typer copies it)
    sample: Sample = None,
    sample_by: SampleBy = "",
    answers: AnswersFile = "",
    as_of: AsOf = "",
    skip_bad: SkipBad = False,
    source: Source = "",
    config: Config = "",
) -> None:
    """Score the messages that earn it: twelve traits and the indicators found, as readings."""
    from dataclasses import replace

    from ..app.analyze import load_library
    from ..app.evaluation.records import NotMeasuredRecord
    from .progress import Progress

    targets = _targets(paths, output, record)
    if keep_text and not output:
        raise typer.BadParameter("--keep-text says what --output writes: name a file with it")
    if quotes and not as_json:
        raise typer.BadParameter("--quotes says what --json tells: give both")
    asked = Asked(paths, as_of, config=config, source=source, skip_bad=skip_bad, as_json=as_json)
    loaded = asked.loaded()
    settings = replace(loaded.settings, evaluator=loaded.settings.evaluator or "local")
    library, progress, moment = load_library(None, loaded), Progress(), asked.moment()
    how = AskedEvaluator(evaluator, option, budget, sample, sample_by, batch, answers)
    ask = how.make(settings, library, progress)
    if ask is None:
        raise typer.BadParameter("--evaluator none scores nothing; name one, like local")
    events = asked.read(library, settings, progress)
    try:
        scored, found = ask(events, moment)
    finally:
        progress.stop()
    if output:
        targets["--output"].write(_line(event, keep_text=keep_text) for event in scored.events)
    if record:
        targets["--record"].write(evaluation_records(found, events.events))
    if as_json:
        for one in evaluation_records(found, events.events, quotes=quotes):
            write_json(one)
        for (where, name), why in found.missing.items():
            write_json(NotMeasuredRecord(source=where, id=name, reason=why.reason))
        write_json(found.to_dict())
    else:
        _tell(found)
        if output:
            by = f"--scorer {printable(found.scorer)}"
            write_line(f"events with scores: {printable(output)} (they count with {by})")
        if record:
            write_line(f"answers: {printable(record)}")
    found.must_not_have_stopped()
    found.must_have_scored()


def evaluation_records(
    found: Evaluated, events: Iterable[Event], *, quotes: bool = False
) -> Iterator[dict[str, Any]]:
    """One `evaluation` record for every message that was scored, in order of time."""
    from dataclasses import replace

    from ..app.evaluation.records import EvaluationRecord
    from ..evaluators.recorded import text_digest
    from ..models.redaction import mask

    for event in events:
        key = (event.source, event.id)
        answer, text = found.answers.get(key), event.text
        if answer is None or text is None:
            continue
        if quotes:
            quoted = (replace(one, quote=mask(text[one.start : one.end])) for one in answer.indicators)
            answer = replace(answer, indicators=tuple(quoted))
        yield EvaluationRecord(
            source=event.source,
            id=event.id,
            subject=event.subject,
            tier=found.tiers[key],
            text_digest=text_digest(text),
            answer=answer,
        ).to_dict()


def _targets(paths: Sequence[str], output: str, record: str) -> dict[str, Target]:
    """The files to write, which are neither read nor each other."""
    from .target import Target

    found = {}
    for option, path in (("--output", output), ("--record", record)):
        if path:
            found[option] = Target(option, path, inputs=paths)
    if len(found) == 2 and found["--output"].is_same(record):
        raise typer.BadParameter("--output and --record must be two files")
    return found


def _line(event: Event, *, keep_text: bool) -> dict[str, Any]:
    said = event.to_dict()
    if not keep_text:
        said.pop("text", None)
        said.get("attributes", {}).pop("title", None)
    return said


def _tell(found: Evaluated) -> None:
    said = found.to_dict()
    from .text import plural

    write_line(
        f"{said['evaluated']:,} of {plural(said['messages'], 'message')} scored ({said['share']:.1%}) "
        f"by {printable(found.scorer)}"
    )
    if said["kept_before"]:
        write_line(f"{said['kept_before']:,} of the answers were kept from before and cost nothing")
    if said["untrusted"]:
        from .report_rest import untrusted_line

        write_line(untrusted_line(said["untrusted"]))
    if said["copies"]:
        write_line(f"{said['copies']:,} repeat what their subject said before and are not scored again")
    if said["unknown_language"]:
        write_line(f"{said['unknown_language']:,} are in no language the lexicon knows: not scored")
    write_line("\ntier                messages   cost")
    for one in said["tiers"]:
        cost = "unknown" if one["cost"] is None else f"${one['cost']:.4f}"
        write_line(f"{one['tier']:18}  {one['messages']:8,}   {cost}")
    spent = "not known: no price for this model" if said["spent"] is None else f"${said['spent']:.4f}"
    write_line(f"spent in this run: {spent}")
    write_line(f"indicators found: {said['indicators']:,}")
    if said["not_measured_traits"] and found.answers:
        write_line(f"traits it does not measure: {', '.join(said['not_measured_traits'])}")
    for why, n in said["dropped"].items():
        write_line(f"dropped from answers: {n:,} x {why}")
    _tell_missing(found)
    if found.unasked:
        write_line(
            f"{plural(found.unasked, 'message')} not asked about ({printable(found.stopped)}); "
            "the same command goes on from here"
        )
    if found.in_jobs:
        write_line(f"{found.in_jobs:,} of them are in a batch that goes on and will be billed")


def _tell_missing(found: Evaluated) -> None:
    from collections import Counter

    from .text import plural

    never = Counter(why.reason for why in found.missing.values() if why.final)
    for why, n in never.most_common():
        write_line(f"not measured, {plural(n, 'message')}: {why}")
    again = [(name, why.reason) for (_, name), why in found.missing.items() if not why.final]
    if not again:
        return
    write_line(f"\nnot measured, {plural(len(again), 'message')}; the same command asks again:")
    for name, why in again[:MOST]:
        write_line(printable(f"  {name}: {why}"))
    if len(again) > MOST:
        write_line(f"  ... and {len(again) - MOST:,} more (all with --json)")
