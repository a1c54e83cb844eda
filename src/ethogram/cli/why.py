"""`ethogram why`: why a pattern did or did not match for a subject."""

from __future__ import annotations

from typing import Annotated

from ..app.analyze import load_library
from ..app.explain import Question
from ..app.explain import why as explain
from ..config import Loaded, Settings
from ..errors import BadUsage, did_you_mean
from ..language.program import Program
from ..models.detection import base_pattern
from ..patterns.library import Library
from ..report.explain import why_parts
from . import options as o
from .output import Progress, show, write_json


def why(
    pattern: Annotated[str, o.arg("Name a pattern or its file.", "PATTERN")],
    subject: Annotated[str, o.arg("Name the subject.", "SUBJECT")],
    options: Annotated[
        o.InputOptions, "paths! as_of as_json skip_bad config source scorers parameters plugins"
    ],
    at: Annotated[str, o.opt("Explain at the event with this id.", metavar="EVENT")] = "",
    target: Annotated[str, o.opt("Select histories towards this target.", metavar="NAME")] = "",
    thread: Annotated[str, o.opt("Select histories in this thread.", metavar="NAME")] = "",
) -> None:
    """Explain why a pattern did or did not match for a subject."""
    moment, loaded = options.moment(), options.loaded()
    settings = loaded.settings
    library, programs = load_pattern(pattern, loaded)
    progress = Progress()
    batch = options.read(library.kinds, settings, progress)
    question = Question(subject, target or None, thread or None, at or None)
    with progress.checking("explaining"):
        answers = explain(question, library, batch, programs=programs, as_of=moment, settings=settings)
    if options.as_json:
        for answer in answers:
            write_json(answer.to_dict())
    else:
        show(*why_parts(answers))


def load_pattern(pattern: str, settings: Settings | Loaded) -> tuple[Library, list[Program]]:
    """The library with one pattern selected, and its programs: `name`, `name.value` or `name@2`.

    BadPattern or BadUsage where there is no such pattern, or more than one.
    """
    is_file = pattern.endswith((".yaml", ".yml"))
    library = load_library([pattern if is_file else base_pattern(pattern)], settings)
    if len(library) != 1:
        meant = ", ".join(library.chosen) or "none that is on"
        raise BadUsage(f"{pattern!r:.80} matches {meant}: expected one pattern")
    programs = [program for program in library.programs if library.is_chosen(program)]
    if is_file or pattern == library.chosen[0]:
        return library, programs
    chosen = [program for program in programs if program.name == pattern]
    if not chosen:
        names = [program.name for program in programs]
        hint = did_you_mean(pattern, names) or f"; there are {', '.join(names)}"
        raise BadUsage(f"no pattern is named {pattern!r:.80}{hint}")
    return library, chosen
