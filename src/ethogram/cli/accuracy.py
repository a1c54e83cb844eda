"""`ethogram accuracy`: how often each version of a pattern was right, as far as verdicts tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from .inputs import AsJson, Asked, Config
from .output import write_json, write_line
from .stored import StoreUrl

if TYPE_CHECKING:
    from ..risk.accuracy import Accuracy, Precision
    from ..risk.agreement import Agreement, Kappa


Pattern = Annotated[
    str, typer.Argument(metavar="[PATTERN]", help="Its name; without one, all.", show_default=False)
]

NONE = "insufficient verdicts: none; see `ethogram verdict`"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("accuracy")(accuracy)


def accuracy(
    store: StoreUrl,
    pattern: Pattern = "",
    silences: Annotated[
        int,
        typer.Option(
            min=0, help="How many silences there were to draw from, where those judged were drawn at random."
        ),
    ] = 0,
    config: Config = "",
    as_json: AsJson = False,
) -> None:
    """Say how often each version of a pattern was right: counts, precision, what recall can be at most."""
    from ..app.accuracy import accuracies, agreement_record, check_pattern, judge_agreement
    from ..config.settings import learning_in
    from ..store import open_store

    settings = Asked(config=config).settings()
    minimum = learning_in(settings)["accuracy_minimum"]
    with open_store(store) as opened:
        if pattern:
            check_pattern(opened, pattern, settings)
        found = accuracies(opened, pattern or None, minimum=minimum, silences=silences)
        together = judge_agreement(opened, pattern or None)
        blind = judge_agreement(opened, pattern or None, blind=True)
    if as_json:
        for one in found:
            write_json(one.to_dict())
        write_json(agreement_record(pattern or None, together, blind))
        return
    if not found:
        write_line(NONE)
        return
    for text in lines(found, together, blind):
        write_line(text)


def lines(found: Sequence[Accuracy], together: Agreement, blind: Agreement) -> Iterator[str]:
    """The text form: one block a version, then how far judges agree."""
    from .text import clean

    for one in found:
        yield f"{clean(one.pattern)} (version {one.version[:12]})"
        yield f"  {counts_text(one.whole)}; {one.unjudged:,} not judged"
        yield f"  precision {precision_text(one.whole)}"
        yield from (f"  recall {text}" for text in recall_texts(one))
        for title, parts in (("source", one.by_source), ("month", one.by_month)):
            if len(parts) > 1:
                for name, part in parts.items():
                    known = clean(name) or "not known"
                    yield f"    {title} {known}: {counts_text(part)}; precision {precision_text(part)}"
    yield from agreement_lines(together, blind)


def counts_text(one: Precision) -> str:
    """The counts in words.

    >>> from ethogram.risk.accuracy import Precision
    >>> from ethogram.risk.verdicts import Counts
    >>> counts_text(Precision(Counts(confirmed=3, missed=1)))
    '3 confirmed, 0 false alarms, 1 missed, 0 correct silences'
    """
    counts = one.counts
    told = [f"{counts.confirmed:,} confirmed", f"{counts.false_alarm:,} false alarms"]
    told += [f"{counts.missed:,} missed", f"{counts.correct_silence:,} correct silences"]
    return ", ".join([*told, f"{counts.disputed:,} disputed"] if counts.disputed else told)


def precision_text(one: Precision) -> str:
    """Precision with its interval, or that there are too few verdicts."""
    if one.value is None or one.interval is None:
        return f"insufficient verdicts ({one.counts.judged} of {one.minimum})"
    return f"{one.value:.2f} ({one.interval[0]:.2f} to {one.interval[1]:.2f})"


def recall_texts(one: Accuracy) -> Iterator[str]:
    """What recall can be, by what was missed and by silences that were looked at."""
    most, least = one.recall_at_most, one.recall_at_least
    if most is not None:
        yield f"at most {most:.2f}: what is known to have been missed is the least there was"
    if least is not None:
        yield f"at least {least:.2f}, if the silences judged were drawn at random from {one.silences:,}"


def agreement_lines(together: Agreement, blind: Agreement) -> Iterator[str]:
    """How far judges agree, where there are several."""
    from .text import clean, plural

    if together.together is None:
        return
    yield f"Judges: {', '.join(f'{clean(name)} {n:,}' for name, n in together.judges.items())}"
    for title, of in (("all", together), ("blind only", blind)):
        if of.together is not None:
            yield f"  {title}: {kappa_text(of.together)} on {plural(of.together.items, 'detection')}"
    for (one, other), kappa in together.pairs.items():
        yield f"  {clean(one)} and {clean(other)}: {kappa_text(kappa)} on {kappa.items:,}"


def kappa_text(one: Kappa) -> str:
    """Agreement as a share, and beyond chance."""
    if one.value is None or one.low is None or one.high is None:
        return f"they agree in {one.observed:.0%}; chance alone would give as much"
    beyond = f"kappa {one.value:.2f} ({one.low:.2f} to {one.high:.2f})"
    return f"they agree in {one.observed:.0%}; {beyond}"
