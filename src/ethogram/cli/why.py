"""`ethogram why`: how far a pattern came for a subject, and which limit failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .inputs import AsJson, Asked, AsOf, Config, Parameters, Paths, Scorers, SkipBad, Source
from .output import write_json

if TYPE_CHECKING:
    from ..config import Loaded, Settings
    from ..language.program import Program
    from ..patterns.library import Library


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("why")(why)


def why(
    pattern: Annotated[str, typer.Argument(metavar="PATTERN", help="Its name or file.", show_default=False)],
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help="Whose histories.", show_default=False)],
    paths: Paths,
    at: Annotated[str, typer.Option(metavar="EVENT", help="The id of the event to look at.")] = "",
    target: Annotated[str, typer.Option(metavar="NAME", help="Only histories towards this one.")] = "",
    thread: Annotated[str, typer.Option(metavar="NAME", help="Only histories in this thread.")] = "",
    as_json: AsJson = False,
    as_of: AsOf = "",
    skip_bad: SkipBad = False,
    source: Source = "",
    scorers: Scorers = [],  # noqa: B006 (typer copies it)
    config: Config = "",
    parameters: Parameters = [],  # noqa: B006
) -> None:
    """Say why a pattern did or did not fire for a subject."""
    from ..app.explain import Question
    from ..app.explain import why as ask
    from .progress import Progress
    from .text import show
    from .why_report import why_parts

    asked = Asked(paths, as_of, config, source, skip_bad, scorers, parameters, as_json=as_json)
    moment, loaded = asked.moment(), asked.loaded()
    settings = loaded.settings
    library, programs = load_one(pattern, loaded)
    progress = Progress()
    batch = asked.read(library, settings, progress)
    question = Question(subject, target or None, thread or None, at or None)
    with progress.checking("looking"):
        found = ask(question, library, batch, programs=programs, as_of=moment, settings=settings)
    if as_json:
        for one in found:
            write_json(one.to_dict())
    else:
        show(*why_parts(found))


def load_one(pattern: str, settings: Settings | Loaded) -> tuple[Library, list[Program]]:
    """The library with one pattern chosen, and the programs meant: `name`, `name.value` or `name@2`.

    BadPattern or BadUsage where there is no such pattern, or more than one.
    """
    from ..app.analyze import load_library
    from ..errors import BadUsage, did_you_mean
    from ..models.detection import base_pattern

    is_file = pattern.endswith((".yaml", ".yml"))
    library = load_library([pattern if is_file else base_pattern(pattern)], settings)
    if len(library) != 1:
        meant = ", ".join(library.chosen) or "none that is on"
        raise BadUsage(f"why takes one pattern; {pattern!r:.80} stands for {meant}")
    programs = [one for one in library.programs if library.is_chosen(one)]
    if is_file or pattern == library.chosen[0]:
        return library, programs
    chosen = [one for one in programs if one.name == pattern]
    if not chosen:
        names = [one.name for one in programs]
        hint = did_you_mean(pattern, names) or f"; there are {', '.join(names)}"
        raise BadUsage(f"no pattern is named {pattern!r:.80}{hint}")
    return library, chosen
