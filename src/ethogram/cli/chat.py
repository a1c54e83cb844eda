"""`ethogram chat`: a conversation scored turn by turn."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..chat.records import MODES
from .inputs import AsJson, Config, latest_of, load_config
from .output import flush, write_json

if TYPE_CHECKING:
    from ..app.chat import Followed, Make, Scored


FOUND = 3
"""The exit code where a conversation reached --fail-on."""

Embedder = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="What reads meaning: small, wordllama, both or none; without it, as set."
    ),
]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("chat")(chat)


def chat(
    path: Annotated[
        str,
        typer.Argument(metavar="FILE", help="A conversation, or many; - is standard input, line by line."),
    ],
    as_json: AsJson = False,
    html: Annotated[str, typer.Option(metavar="FILE", help="Write it as one HTML page too.")] = "",
    fail_on: Annotated[
        str, typer.Option(metavar="MODE", help="Exit 3 where a conversation reaches CAUTIOUS, ELEVATED, ...")
    ] = "",
    summed: Annotated[bool, typer.Option("--summary", help="One line a conversation, no turns.")] = False,
    signals: Annotated[bool, typer.Option("--signals", help="Every signal of every turn.")] = False,
    excerpts: Annotated[
        bool, typer.Option("--excerpts", help="Show what was said, secrets and names masked.")
    ] = False,
    embedder: Embedder = "",
    config: Config = "",
) -> None:
    """Score a conversation turn by turn: mode, risk, and what raised or lowered it.

    Of what signals add to the risk the strongest counts whole, each further one half of the one before.
    """
    from ..app.chat import follow, summary_record, turn_record
    from ..app.chat_files import read_turns
    from .chat_text import Writer, written
    from .page_file import check_page, write_page

    limit = mode_of(fail_on)
    check_page(html, [path])
    make = maker(embedder, config)
    followed: dict[str, Followed] = {}
    kept: list[Scored] = []
    writer = Writer(signals=signals, excerpts=excerpts)
    stdin = sys.stdin.buffer if sys.stdin else None
    latest = latest_of(load_config(config).settings)
    for one in follow(read_turns(path, stdin, latest), make, followed):
        if html:
            kept.append(one)
        if summed:
            continue
        if as_json:
            write_json(turn_record(one, excerpts=excerpts))
        else:
            writer.turn(one)
        # Whoever types or pipes turns waits for the answer to each.
        flush()
    writer.close()
    summaries = [summary_record(name, one) for name, one in followed.items()]
    for told in summaries:
        if as_json:
            write_json(told)
        else:
            written(told, summed=summed)
    if html:
        from ..report.chat import chat_page

        write_page(html, chat_page(kept, followed, excerpts=excerpts))
    if fail_on and any(MODES.index(told["highest_mode"]) >= limit for told in summaries):
        raise typer.Exit(FOUND)


def maker(embedder: str, config: str) -> Make:
    """What makes a conversation, with the settings and the embedder that was named."""
    import ethogram

    settings = load_config(config).settings
    given: dict[str, Any] = {"embedder": None if embedder == "none" else embedder} if embedder else {}

    def make(name: str, subject: str) -> ethogram.Conversation:
        return ethogram.Conversation(name, subject=subject, settings=settings, **given)

    return make


def mode_of(name: str) -> int:
    """The place of a mode among all, 0 for none; BadUsage says which there are.

    >>> mode_of("suspect")
    3
    """
    from ..errors import BadUsage, did_you_mean

    if name and name.upper() not in MODES:
        hint = did_you_mean(name.upper(), MODES) or f"; there are {', '.join(MODES)}"
        raise BadUsage(f"--fail-on: no mode {name!r:.40}{hint}")
    return MODES.index(name.upper()) if name else 0
