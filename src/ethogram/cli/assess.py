"""`ethogram assess`: what was found in runs and histories, the risk it makes up, and what to do first."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from .analyze import FOUND
from .inputs import (
    Allow,
    AsJson,
    Asked,
    Config,
    Cwd,
    Deny,
    Goal,
    Parameters,
    Paths,
    Scorers,
    SkipBad,
    Source,
    Task,
    run_context,
)
from .output import printable, write_json, write_line

if TYPE_CHECKING:
    from ..app.run_record import Run
    from ..risk.assessment import Intervention


FEW = 3
"""So many are told one by one; of more, the gravest are."""

AsOf = Annotated[
    str,
    typer.Option(
        metavar="TIME",
        help="The moment of the question; without it, the end of a run, or the newest event.",
    ),
]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("assess")(assess)


def assess(
    paths: Paths,
    as_json: AsJson = False,
    patterns: Annotated[
        list[str],
        typer.Option("--patterns", metavar="SELECTOR", help="A pattern's name, a glob, a file or a folder."),
    ] = [],  # noqa: B006 (typer copies it)
    as_of: AsOf = "",
    fail_on: Annotated[
        str, typer.Option(metavar="SEVERITY", help="Exit 3 on a detection at or above low, medium, ...")
    ] = "",
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="How many are told; JSON has all.")] = FEW,
    skip_bad: SkipBad = False,
    source: Source = "",
    scorers: Scorers = [],  # noqa: B006
    config: Config = "",
    parameters: Parameters = [],  # noqa: B006
    task: Task = "",
    goal: Goal = "",
    allow: Allow = [],  # noqa: B006
    deny: Deny = [],  # noqa: B006
    cwd: Cwd = "",
) -> None:
    """Assess runs and histories: their patterns, combinations, risk, and what to do, the gravest first."""
    from contextlib import ExitStack
    from datetime import UTC, datetime

    from ..app.analyze import analyze_gathered, load_library
    from ..app.assess import assess_all, assessment_input
    from ..app.mute import mute
    from ..app.runs import run_report
    from ..ingest import OnDisk
    from .progress import Progress
    from .risk_text import risk_lines
    from .text import plural

    context = run_context(task, goal, allow, deny, cwd)
    asked = Asked(paths, as_of, config, source, skip_bad, scorers, parameters, fail_on, as_json, context)
    moment, loaded = asked.moment(), asked.loaded()
    settings, library = loaded.settings, load_library(patterns or None, loaded)
    progress = Progress()
    with ExitStack() as stack:
        given = asked.gather(library, settings, progress)
        if isinstance(given, OnDisk):
            stack.enter_context(given)
        with progress.checking(f"assessing {plural(len(given.events), 'event')}"):
            analysis = analyze_gathered(given, library, as_of=moment, settings=settings)
            analysis = mute(analysis, asked.mutes(loaded), given.events, now=datetime.now(UTC))
            runs = run_report(analysis.detections, given.events, as_of=analysis.as_of, settings=settings)
            looked = assessment_input(
                analysis,
                given.events,
                library,
                settings,
                runs=runs,
                requested=moment,
                interventions=hook_said(runs),
            )
            found = assess_all(looked)
    if as_json:
        for one in found:
            write_json(one.to_dict())
    else:
        grave = [one for one in found if one.overall_risk > 0]
        quiet = len(found) - len(grave)
        if not grave:
            write_line(f"Nothing that counts was found in {plural(analysis.events, 'event')}.")
        for number, one in enumerate(grave[:limit]):
            if number:
                write_line("")
            for line in risk_lines(one, timed=one.source not in looked.context.untimed):
                write_line(line)
        if len(grave) > limit:
            write_line(f"\nand {len(grave) - limit:,} more with a lower risk (--limit)")
        if quiet and grave:
            write_line(f"\n{plural(quiet, 'run')} with nothing that counts")
    if settings.fail_on is not None and analysis.at_or_above(settings.fail_on):
        raise typer.Exit(FOUND)


def hook_said(runs: tuple[Run, ...]) -> dict[str, dict[str, list[Intervention]]]:
    """What a hook said in these runs, where one watched them: by thread and pattern, oldest first."""
    from ..agents.hook.status import load_messages
    from ..errors import BadInput
    from ..risk.assessment import Intervention

    if not runs:
        return {}
    threads = {one.thread for one in runs}
    try:
        told, _ = load_messages()
    except BadInput as error:
        # What was said is only told beside it: without it the assessment is still right.
        write_line(printable(f"ethogram: what hooks said is left out: {error}"), to=sys.stderr)
        return {}
    found: dict[str, dict[str, list[Intervention]]] = {}
    for one in told:
        if one["session"] in threads:
            steps = found.setdefault(one["session"], {}).setdefault(one["pattern"], [])
            steps.append(Intervention(one["rung"], one["effect"]))
    return found
