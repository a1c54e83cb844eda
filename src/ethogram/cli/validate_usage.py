"""`ethogram validate usage`: how often usage patterns speak without cause, and what they find."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer

from .inputs import AsJson, Config, load_config
from .output import printable, write_json, write_line
from .validate_usage_text import lines

MOST_SEED = 1_000_000
Record = Mapping[str, Any]


def usage(
    data: Annotated[
        str,
        typer.Option(
            "--data", metavar="FOLDER", help="Sets of people; without it, $ETHOGRAM_DATA/conversations."
        ),
    ] = "",
    sets: Annotated[
        list[str], typer.Option("--set", metavar="NAME", help="Only this set, named by its file; repeatable.")
    ] = [],  # noqa: B006 (typer copies it)
    seed: Annotated[
        int | None, typer.Option(min=0, help="Decides what is planted; without it, a new one that is told.")
    ] = None,
    draws: Annotated[
        int | None,
        typer.Option(min=0, max=10_000, help="Cases in each row at most; 0: only false alarms."),
    ] = None,
    half: Annotated[str, typer.Option(help="Which people: tune, report or all.")] = "all",
    as_json: AsJson = False,
    config: Config = "",
) -> None:
    """People without known trouble: how often patterns speak, and how many planted changes they find."""
    from ethogram.modes.validate_usage import DRAWS, chosen_files, validate_usage

    from .progress import Progress
    from .validate import digest, folder_of

    folder, settings = folder_of(data, "conversations"), load_config(config).settings
    chosen, count = _seed(seed), DRAWS if draws is None else draws
    progress = Progress()
    found: list[Record] = []
    try:
        for one in validate_usage(
            folder, sets, seed=chosen, draws=count, half=half, settings=settings, progress=progress.count
        ):
            found.append(one)
            if as_json:
                write_json(one)
    finally:
        progress.stop()
    told = summary(found, chosen, count, half, digest(chosen_files(folder, sets)))
    if as_json:
        write_json(told)
        return
    for line in lines(found, told):
        write_line(printable(line))


def _seed(given: int | None) -> int:
    import secrets

    return secrets.randbelow(MOST_SEED) if given is None else given


def summary(found: Sequence[Record], seed: int, draws: int, half: str, data: str) -> dict[str, Any]:
    """The last record: how it was got, and for each set the rates and recall that bars are set for."""
    names = [one["set"] for one in found if one["record"] == "usage_set"]
    return {
        "record": "usage_summary",
        "seed": seed,
        "draws": draws,
        "half": half,
        "data": data,
        "sets": {name: _bars([one for one in found if one["set"] == name]) for name in names},
    }


def _bars(found: Iterable[Record]) -> dict[str, Any]:
    rows = list(found)
    rates = {
        one["level"]: one["rate"]
        for one in rows
        if one["record"] == "usage_rate" and _key(one) == ("real", "patterns", "all", "all")
    }
    recall: dict[str, dict[str, float | None]] = {"low": {}, "medium": {}}
    for one in rows:
        if one["record"] == "usage_recall":
            name = f"{one['change']}/{one['background']}/{one['measure']}"
            name += "" if one["rise"] is None else f"/rise {one['rise']}"
            recall[one["level"]][name] = one["recall"]
    return {"rate": rates, "recall": recall}


def _key(one: Record) -> tuple[str, ...]:
    return one["background"], one["method"], one["group"], one["pattern"]
