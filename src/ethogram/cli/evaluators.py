"""`ethogram evaluators`: who can score messages, and how far two of them agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .asked_evaluator import AnswersFile, Budget, Options, Sample, options_of
from .inputs import AsJson, Asked, Config, SkipBad, Source
from .output import printable, write_json, write_line

if TYPE_CHECKING:
    from ..app.evaluation.agreement import Side
    from ..app.evaluation.questions import Sampling
    from ..config import Settings
    from ..ingest import Batch
    from ..patterns.library import Library


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    group = typer.Typer(no_args_is_help=True)
    group.command("list")(list_evaluators)
    group.command("compare")(compare)
    app.add_typer(group, name="evaluators", help="Who can score messages, and how far they agree.")


def list_evaluators(as_json: AsJson = False) -> None:
    """The evaluators there are, with what each needs."""
    from inspect import getdoc

    from .. import registry

    rows = [
        (name, str(getattr(one, "needs", "")), (getdoc(one) or "").split("\n", 1)[0])
        for name, one in registry.evaluators.items()
    ]
    names, needed = (max(len(row[i]) for row in rows) for i in (0, 1))
    for name, needs, about in rows:
        if as_json:
            from ..patterns.listing import EvaluatorRow

            write_json(EvaluatorRow(name=name, needs=needs, description=about))
        else:
            write_line(printable(f"{name:<{names}}  {needs:<{needed}}  {about}"))


def compare(
    first: Annotated[
        str, typer.Argument(metavar="A", help="An evaluator, or `given` for scores in the data.")
    ],
    second: Annotated[str, typer.Argument(metavar="B", help="Another one.")],
    data: Annotated[list[str], typer.Option("--data", metavar="PATH", help="Messages; repeatable.")],
    as_json: AsJson = False,
    patterns: Annotated[
        list[str], typer.Option("--patterns", metavar="SELECTOR", help="What is detected with the scores.")
    ] = [],  # noqa: B006 (typer copies it)
    option_a: Annotated[
        list[str], typer.Option("--option-a", metavar="NAME=VALUE", help="An option of A; repeatable.")
    ] = [],  # noqa: B006
    option_b: Annotated[
        list[str], typer.Option("--option-b", metavar="NAME=VALUE", help="An option of B; repeatable.")
    ] = [],  # noqa: B006
    budget: Budget = None,
    sample: Sample = None,
    answers: AnswersFile = "",
    skip_bad: SkipBad = False,
    source: Source = "",
    config: Config = "",
) -> None:
    """How far two evaluators agree on the same messages, what they cost, what changes in the detections."""
    from dataclasses import replace

    from ..app.analyze import load_library
    from ..app.evaluation.agreement import compared
    from .progress import Progress

    asked = Asked(data, config=config, source=source, skip_bad=skip_bad, as_json=as_json)
    loaded, progress = asked.loaded(), Progress()
    settings, library = loaded.settings, load_library(patterns or None, loaded)
    if answers:
        settings = replace(settings, answers=answers)
    makers = [
        _Maker(name, given, settings, library) for name, given in ((first, option_a), (second, option_b))
    ]
    batch = asked.read(library, settings, progress)
    sampling = _sampling(makers, sample)
    with progress.checking("scoring"):
        sides = [one.side(batch, sampling, budget) for one in makers]
    with progress.checking("comparing"):
        found = compared(sides[0], sides[1], library, settings)
    if as_json:
        write_json(found)
    else:
        _tell(found)


class _Maker:
    """One of the two, made before anything is read so that a mistake is told at once."""

    def __init__(self, name: str, options: Options, settings: Settings, library: Library) -> None:
        from ..app.evaluation.scoring import evaluator_of
        from ..errors import BadUsage
        from ..models import GIVEN

        self.settings, self.library = settings, library
        self.evaluator = None if name == GIVEN else evaluator_of(settings, name, options_of(options))
        if self.evaluator is None and name != GIVEN:
            raise BadUsage(f"{name!r:.40} scores nothing; name an evaluator, or `given`")

    def side(self, batch: Batch, sampling: Sampling, budget: float | None) -> Side:
        from ..app.evaluation.agreement import given_side, side_of
        from ..app.evaluation.scoring import paying_for

        if self.evaluator is None:
            return given_side(batch.events, sampling)
        paying = paying_for(self.evaluator, self.settings, self.library, budget=budget)
        return side_of(batch.events, self.evaluator, sampling, paying)


def _sampling(makers: list[_Maker], share: float | None) -> Sampling:
    """All messages where that costs nothing; else those that earn it and a few more."""
    from ..app.evaluation.questions import Sampling

    if share is not None:
        return Sampling(share)
    paid = any(one.evaluator is not None and one.evaluator.paid for one in makers)
    return Sampling() if paid else Sampling(1.0)


def _tell(found: Mapping[str, Any]) -> None:
    from .text import plural

    write_line(plural(found["messages"], "message"))
    for name in ("a", "b"):
        one = found[name]
        cost = "cost not known" if one["cost"] is None else f"${one['cost']:.4f}"
        missing = f", {one['not_measured']:,} not measured" if one["not_measured"] else ""
        write_line(printable(f"{name.upper()}: {one['scorer']}, {cost}, {one['seconds']:.1f} s{missing}"))
    write_line("\ntrait           both   rank correlation (95 %)   mean A  mean B   strong in both / either")
    for one in found["traits"]:
        if not one["both"]:
            by = "A" if one["measured_a"] else "B"
            write_line(f"{one['trait']:14}     -   measured by {by} alone")
            continue
        write_line(
            f"{one['trait']:14} {one['both']:5,}   {_number(one['correlation'])}"
            f" ({_number(one['low'])} to {_number(one['high'])})   "
            f"{one['mean_a']:6.2f}  {one['mean_b']:6.2f}   {one['strong_both']:,} / {one['strong_either']:,}"
        )
    signs = found["indicators"]
    write_line(f"\nindicators: {signs['a']:,} by A, {signs['b']:,} by B, {signs['both']:,} by both")
    told = found["detections"]
    alone = f"{told['only_a']:,} with A alone, {told['only_b']:,} with B alone"
    write_line(f"detections: {told['both']:,} with both, {alone}")
    for name, one in told["by_pattern"].items():
        write_line(
            printable(f"  {name}: {one['both']} both, {one['only_a']} A alone, {one['only_b']} B alone")
        )


def _number(value: float | None) -> str:
    return "   - " if value is None else f"{value:5.2f}"
