"""`ethogram validate conversations`: how well attacks are told from harmless talk, beside trivial answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from .chat import Embedder, maker
from .inputs import AsJson, Config
from .output import printable, write_json, write_line
from .validate_conversations_text import lines

Record = Mapping[str, Any]


def conversations(
    data: Annotated[
        str,
        typer.Option(
            "--data", metavar="FOLDER", help="Sets of them; without it, $ETHOGRAM_DATA/conversations."
        ),
    ] = "",
    sets: Annotated[
        list[str], typer.Option("--set", metavar="NAME", help="Only this set, named by its file; repeatable.")
    ] = [],  # noqa: B006 (typer copies it)
    attacks: Annotated[
        list[str], typer.Option("--attacks", metavar="NAME", help="A set that is all attacks; repeatable.")
    ] = [],  # noqa: B006
    harmless: Annotated[
        list[str], typer.Option("--harmless", metavar="NAME", help="A set that is all harmless; repeatable.")
    ] = [],  # noqa: B006
    half: Annotated[str, typer.Option(help="Which conversations: tune, other, report or all.")] = "all",
    most: Annotated[
        int | None, typer.Option("--most", min=1, help="The first so many of each set; without it, all.")
    ] = None,
    as_json: AsJson = False,
    embedder: Embedder = "",
    config: Config = "",
) -> None:
    """Attacks against harmless talk: AUROC, recall, turns until detection, false alarms; beside baselines."""
    from ethogram.modes.talks import KINDS, chosen_sets
    from ethogram.modes.validate_conversations import validate_conversations
    from ethogram.modes.validate_conversations_local import SETS

    from .progress import Progress
    from .validate import digest, folder_of

    folder, make = folder_of(data, "conversations"), maker(embedder, config)
    files = chosen_sets(folder, sets, attacks=attacks, harmless=harmless, known=(*KINDS, *SETS))
    progress = Progress()
    found: list[Record] = []
    try:
        for one in validate_conversations(
            lambda name: make(name, "user"),
            folder,
            sets,
            attacks=attacks,
            harmless=harmless,
            half=half,
            most=most,
            progress=progress.count,
        ):
            found.append(one)
            if as_json:
                write_json(one)
    finally:
        progress.stop()
    told = summary(found, half, most, embedder, digest(file for file, _ in files))
    if as_json:
        write_json(told)
        return
    for line in lines(found, told):
        write_line(printable(line))


def summary(found: Sequence[Record], half: str, most: int | None, embedder: str, data: str) -> dict[str, Any]:
    """The last record: how it was got, what was tuned on what, and the figures that bars are set for.

    Each bar is told with what was measured, on the harmless sets of the budget together where they are there
    and on all harmless ones where not; null where nothing is to be compared.
    """
    from ethogram.modes.talks import BUDGET, HARMLESS
    from ethogram.modes.validate_conversations import BARS, MARK, OURS, TOGETHER, TUNED

    modes = [one for one in found if one["record"] == "conversation_mode" and one["mode"] == MARK]
    calm = [one for one in modes if one["kind"] == HARMLESS]
    calm = [one for one in calm if one["set"] in BUDGET] or calm
    apart = [one for one in found if one["record"] == "conversation_apart" and one["method"] == OURS]
    ours = [one for one in apart if one["against"] == TOGETHER] or apart[:1]
    counted, reached = sum(one["conversations"] for one in calm), sum(one["reached"] for one in calm)
    values = {
        "false_alarms_per_1000": round(1000 * reached / counted, 1) if counted else None,
        "auroc": ours[0]["auroc"] if ours else None,
        "recall_at_1": ours[0]["recall_at_1"] if ours else None,
    }
    return {
        "record": "conversation_summary",
        "half": half,
        "most": most,
        "embedder": embedder or "as set",
        "tuned": TUNED,
        "against": ours[0]["against"] if ours else None,
        "bars": {name: {"value": values[name], "bar": bar} for name, bar in BARS.items()},
        "data": data,
    }
