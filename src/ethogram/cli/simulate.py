"""`ethogram simulate`: made-up conversations, to see when detection comes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from .chat import Embedder, maker
from .inputs import AsJson, Config
from .output import printable, write_json, write_line

MOST_SEED = 1_000_000


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("simulate")(simulate)


def simulate(
    kind: Annotated[
        list[str],
        typer.Option("--kind", metavar="KIND", help="calm, hostile, student, ...; repeatable; none: all."),
    ] = [],  # noqa: B006 (typer copies it)
    count: Annotated[int, typer.Option(min=1, max=1_000, help="Conversations of each kind.")] = 3,
    turns: Annotated[
        int | None, typer.Option(help="50 to 500; without it, drawn for each conversation.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Decides everything; without it, a new one that is told.")
    ] = None,
    refused: Annotated[
        float, typer.Option(min=0, max=1, help="How often the assistant refuses what means harm.")
    ] = 0.3,
    show: Annotated[
        bool, typer.Option("--show", help="The conversations themselves as JSON, not what came of them.")
    ] = False,
    as_json: AsJson = False,
    embedder: Embedder = "",
    config: Config = "",
) -> None:
    """Conversations of 50 to 500 turns in words that no lexicon has: when does detection come?

    They show how the signals of form behave, and are no evidence of how well attacks are found.
    """
    import secrets

    from ethogram.modes.simulate import simulate as followed

    chosen = secrets.randbelow(MOST_SEED) if seed is None else seed
    if show:
        _show(kind, chosen, count, turns, refused)
        return
    make = maker(embedder, config)
    if not as_json:
        write_line(f"seed {chosen}")
    found = followed(
        lambda name: make(name, "simulated"), kind, seed=chosen, count=count, turns=turns, refused=refused
    )
    for one in found:
        if as_json:
            write_json(one)
        else:
            write_line(printable(line(one)))


def line(one: Mapping[str, Any]) -> str:
    """A conversation or a kind, as a line."""
    if one["record"] == "simulate_summary":
        reached = ", ".join(f"{mode} {count}" for mode, count in one["reached"].items() if count)
        waits = ", ".join(f"{mode} {wait:g}" for mode, wait in one["waits"].items())
        told = f"{one['kind']}: of {one['conversations']} reached {reached or 'nothing above SAFE'}"
        return f"{told}; median wait in user turns: {waits}" if waits else told
    from ethogram.modes.simulate import rises

    begins = "" if one["begins"] is None else f", means harm from turn {one['begins']}"
    when = ", ".join(f"{mode} at turn {turn}" for mode, turn in rises(one["first"]))
    why = f" ({one['reason']})" if one["reason"] else ""
    whole = f"  {one['kind']} {one['seed']}: {one['turns']} turns{begins}"
    highest = f"highest {one['highest_mode']} {one['highest_risk']:.2f}{why}"
    return "; ".join(part for part in (whole, highest, when) if part)


def _show(kinds: list[str], seed: int, count: int, turns: int | None, refused: float) -> None:
    """The conversations, one a line, as `ethogram chat` and `ethogram analyze` read them."""
    from ethogram.modes.simulate_talk import KINDS, simulated

    made = [simulated(kind, seed + k, turns, refused) for kind in kinds or KINDS for k in range(count)]
    for one in made:
        said = [{"speaker": role, "role": role, "text": text} for role, text in one.said]
        write_json({"record": "conversation", "conversation_id": f"{one.kind}/{one.seed}", "turns": said})
