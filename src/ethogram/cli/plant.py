"""`ethogram plant`: episodes of patterns set into histories, and how many of them are found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .inputs import AsJson, Asked, Config, Parameters, Scorers, SkipBad
from .output import printable, write_json, write_line

if TYPE_CHECKING:
    from ethogram.modes.plant import Planting


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("plant")(plant)


def plant(
    patterns: Annotated[
        list[str],
        typer.Option(
            "--pattern", metavar="SELECTOR", help="A pattern's name, a glob, a file or a folder; repeatable."
        ),
    ] = [],  # noqa: B006 (typer copies it)
    data: Annotated[
        list[str],
        typer.Option(
            "--data",
            metavar="PATH",
            help="The background: a file or folder of events; repeatable. Without it, one is made up.",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    episodes: Annotated[int, typer.Option(min=1, help="How many episodes of each pattern.")] = 200,
    seed: Annotated[int, typer.Option(help="The same seed gives the same episodes.")] = 0,
    strength: Annotated[
        str, typer.Option(metavar="LOW:HIGH", help="1 is as strong as the examples, 0 as the background.")
    ] = "0.6:1",
    noise: Annotated[float, typer.Option(help="What is added to readings: its standard deviation.")] = 0.05,
    gaps: Annotated[
        float, typer.Option(help="How likely an innocent event stands between two of an episode.")
    ] = 0.3,
    history: Annotated[
        list[str],
        typer.Option(metavar="KEY", help="Histories by subject, target, ... instead of the patterns' own."),
    ] = [],  # noqa: B006
    write: Annotated[
        str, typer.Option(metavar="FILE", help="Write the background and the episodes as event lines.")
    ] = "",
    as_json: AsJson = False,
    skip_bad: SkipBad = False,
    scorers: Scorers = [],  # noqa: B006
    config: Config = "",
    parameters: Parameters = [],  # noqa: B006
) -> None:
    """Plant episodes of patterns in histories, and count how many are found."""
    from ethogram.library.select import select
    from ethogram.library.settings_check import check_patterns
    from ethogram.library.vocabulary import load_vocabulary
    from ethogram.modes import plant as planting
    from ethogram.modes.plant_episode import Setting

    from .measured_text import plant_lines
    from .progress import Progress
    from .text import plural

    if not patterns:
        raise typer.BadParameter("name what to plant: --pattern NAME")
    setting = Setting(_range(strength), noise, gaps)
    asked = Asked(data, "", config, "", skip_bad, scorers, parameters, "", as_json)
    loaded = asked.loaded()
    check_patterns(loaded, patterns)
    library = select(
        patterns,
        more=loaded.settings.patterns,
        vocabulary=load_vocabulary(loaded.settings.signals),
        parameters=loaded.settings.parameters,
        status=loaded.settings.status,
    )
    progress = Progress()
    events = asked.read(library, loaded.settings, progress).events if data else None
    with progress.checking(f"planting {plural(episodes, 'episode')} of {plural(len(library), 'pattern')}"):
        done = planting.plant(
            library,
            events,
            episodes=episodes,
            seed=seed,
            setting=setting,
            history=history,
            settings=loaded.settings,
        )
    if write:
        _write(write, done)
    if as_json:
        for one in done:
            write_json(one.to_dict())
        write_json(done.summary())
        return
    for line in plant_lines(done):
        write_line(line)
    if write:
        write_line(printable(f"the events: {write}"))


def _range(given: str) -> tuple[float, float]:
    low, colon, high = given.partition(":")
    try:
        return float(low), float(high if colon else low)
    except ValueError:
        raise typer.BadParameter(f"takes LOW:HIGH, like 0.6:1; here is {given!r:.40}") from None


def _write(path: str, done: Planting) -> None:
    import json

    from ethogram.errors import BadUsage
    from ethogram.files import write_whole

    lines = (json.dumps(line, ensure_ascii=True, allow_nan=False) + "\n" for line in done.lines())
    try:
        write_whole(path, lines)
    except OSError as error:
        raise BadUsage(f"{path}: cannot be written: {error.strerror or error}") from None
