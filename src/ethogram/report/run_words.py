"""Runs in words: what repeated, from step to step, what it cost, what was tried, how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .words import clean, plural

if TYPE_CHECKING:
    from ..app.run_record import Run, RunEpisode


NAME = 60


def run_name(run: Run) -> str:
    """The thread of a run; of a long one both ends, as those of many runs begin alike."""
    told = clean(run.thread, 10 * NAME)
    return told if len(told) <= NAME else f"{told[: NAME // 3]}…{told[1 - NAME * 2 // 3 :]}"


def agents_text(run: Run) -> str:
    """Who acted; a sub-agent with who started it.

    Of many, the first three.
    """
    told = [
        clean(one.name, NAME) + (f" (started by {clean(one.parent, NAME)})" if one.parent else "")
        for one in run.agents[:3]
    ]
    left = len(run.agents) - len(told)
    return ", ".join(told) + (f" and {left} more" if left else "")


def totals_text(run: Run) -> str:
    """How much was done in a run, and what it took where that is known."""
    told = [plural(run.steps, "step"), plural(run.errors, "error")]
    if run.changed_files:
        told.append(f"{plural(run.changed_files, 'file')} changed")
    if run.condensations:
        told.append(f"memory condensed {times(run.condensations)}")
    return ", ".join([*told, *costs(run.tokens, run.seconds, run.cost)])


def lost_text(run: Run) -> str:
    """How many steps lie where the same came again and again."""
    return f"{run.lost_steps:,} of {plural(run.steps, 'step')} ({run.lost_share:.0%})"


def found_text(run: Run) -> str:
    """What was found, in a few words."""
    if not run.episodes:
        return "nothing"
    gravest = next(one for one in run.episodes if one.severity == run.severity)
    left = len(run.episodes) - 1
    return f"{clean(gravest.title or gravest.pattern, 80)}, {where(gravest)}" + (
        f"; {left} more" if left else ""
    )


def episode_text(one: RunEpisode, run: Run) -> str:
    """The stretch and what happened in it, in sentences."""
    total = next((agent.steps for agent in run.agents if agent.name == one.subject), run.steps)
    length = ", ".join(
        [f"{one.steps:,} of {plural(total, 'step')}", *costs(one.tokens, one.seconds, one.cost)]
    )
    head = where(one)
    said = f"{head[0].upper()}{head[1:]} ({length})"
    if one.repeated:
        said += ": " + "; ".join(_repeated(each.what, each.times, each.error) for each in one.repeated)
    return f"{said}."


def known_text(one: RunEpisode) -> str:
    """When it could have been known, and how it ended."""
    return f"It could have been known at step {one.detected_step:,}. {ended_text(one)}"


def tried_text(one: RunEpisode) -> str:
    """What else was done in between; '' where that was nothing."""
    return ", ".join(quoted(each) for each in one.tried)


def ended_text(one: RunEpisode) -> str:
    """How it ended."""
    if one.ended == "progress":
        return f"Something new was done at step {one.ended_step:,}."
    if one.ended == "stopped":
        return f"From step {one.ended_step:,} on it did not go on, and nothing new was done."
    return "It went on until the run ended."


def where(one: RunEpisode) -> str:
    """The stretch: 'steps 3 to 6'."""
    if one.from_step == one.to_step:
        return f"step {one.from_step:,}"
    return f"steps {one.from_step:,} to {one.to_step:,}"


def costs(tokens: float | None, seconds: float | None, cost: float | None) -> list[str]:
    """What is known of what it took."""
    told = [] if tokens is None else [plural(round(tokens), "token")]
    if seconds is not None:
        told.append(duration_text(seconds))
    return told if cost is None else [*told, f"${cost:,.2f}" if cost >= 0.1 or not cost else f"${cost:.4f}"]


def duration_text(seconds: float) -> str:
    """A length of time in one or two units.

    >>> duration_text(0.4), duration_text(190), duration_text(7500), duration_text(200_000)
    ('under 1 s', '3 min 10 s', '2 h 5 min', '2 d 7 h')
    """
    if seconds < 1:
        return "under 1 s" if seconds else "0 s"
    left, told = round(seconds), []
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        whole, left = divmod(left, size)
        if whole:
            told.append(f"{whole:,} {unit}")
        elif told:
            break
    return " ".join(told[:2])


def times(n: int) -> str:
    """How often.

    >>> times(1), times(2), times(1200)
    ('once', 'twice', '1,200 times')
    """
    return {1: "once", 2: "twice"}.get(n, f"{n:,} times")


def quoted(text: str) -> str:
    """What somebody did, set apart from our own words."""
    return f"`{clean(text)}`"


def episode_cells(run: Run, subject: str, per_cell: int) -> Sequence[tuple[int, int, RunEpisode]]:
    """The first and last cell of a lane that each episode of this agent covers."""
    return [
        ((one.from_step - 1) // per_cell, (one.to_step - 1) // per_cell, one)
        for one in run.episodes
        if one.subject == subject
    ]


def _repeated(what: str, n: int, error: str | None) -> str:
    if error is None:
        return f"{quoted(what)} came {times(n)}"
    return f"{quoted(what)} failed the same way {times(n)} ({clean(error)})"
