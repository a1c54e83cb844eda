"""`ethogram chat`: score a conversation turn by turn."""

from __future__ import annotations

import sys
from functools import partial
from typing import Annotated, Any

import click

from ..app.chat.files import read_turns
from ..app.chat.scores import Followed, Make, Scored, follow, summary_record, turn_record
from ..chat.records import MODES
from ..errors import BadUsage, did_you_mean
from ..report.chat import TurnWriter, never_measured, summary_line
from ..report.wording import clean, listed
from . import options as o
from .errors import warn
from .output import Target, flush, write_json, write_line, write_lines
from .scoring import Budget

NOTHING = "There are no turns in this input."
Embedder = Annotated[str, o.opt("Use static, onnx:FOLDER, openai:MODEL@URL or none.", metavar="NAME")]


def chat(
    path: Annotated[str, o.arg("Read conversations; - is standard input, line by line.", "FILE")],
    fail_on: Annotated[str, o.opt("Exit with 3 on CAUTIOUS, ELEVATED, SUSPECT, ...", metavar="MODE")] = "",
    html: o.Html = "",
    as_json: o.AsJson = False,
    summed: Annotated[bool, o.opt("Print one line per conversation.", "--summary")] = False,
    signals: Annotated[bool, o.opt("Show every signal of every turn.", "--signals")] = False,
    excerpts: Annotated[bool, o.opt("Show masked excerpts of the turns.", "--excerpts")] = False,
    embedder: Embedder = "",
    evaluator: Annotated[str, o.opt("Confirm SUSPECT with anthropic or openai.", metavar="NAME")] = "",
    budget: Budget = None,
    store: Annotated[str, o.opt("Save states and detections in this store.", metavar="URL")] = "",
    config: o.Config = "",
) -> None:
    """Score a conversation turn by turn: mode, risk, and the reasons.

    The strongest signal counts in full, each further one half of the one before.
    """
    limit = mode_of(fail_on)
    page = Target("--html", html, inputs=[path]) if html else None
    make = maker(embedder, config, evaluator, budget, store)
    followed: dict[str, Followed] = {}
    turns: list[Scored] = []
    writer = TurnWriter(signals=signals, excerpts=excerpts)
    stdin = sys.stdin.buffer if sys.stdin else None
    latest = o.latest_of(o.load_config(config).settings)
    heed = partial(warn, as_json=as_json)
    for turn in follow(read_turns(path, stdin, latest, heed), make, followed):
        if html:
            turns.append(turn)
        if summed:
            continue
        if as_json:
            write_json(turn_record(turn, excerpts=excerpts))
        else:
            write_lines(writer.turn(turn))
        # Whoever types or pipes turns waits for the answer to each.
        flush()
    if not as_json:
        write_lines(writer.close() if followed else [NOTHING])
    summaries = [summary_record(name, talk) for name, talk in followed.items()]
    for record in summaries:
        if as_json:
            write_json(record)
        else:
            write_line(("" if summed else "\n") + summary_line(record))
    if page is not None:
        from ..report.html import chat_page

        page.write([chat_page(turns, followed, excerpts=excerpts)])
    if fail_on and any(MODES.index(record["highest_mode"]) >= limit for record in summaries):
        raise click.exceptions.Exit(o.FAIL)
    if fail_on and not followed:
        raise BadUsage(f"--fail-on: {NOTHING} Nothing was checked.")
    if fail_on and (missed := [record for record in summaries if never_measured(record)]):
        names = listed([clean(record["conversation"]) for record in missed], 3)
        raise BadUsage(f"--fail-on cannot answer for what was not measured: {names}")


def maker(
    embedder: str, config: str, evaluator: str = "", budget: float | None = None, store: str = ""
) -> Make:
    """What makes a conversation, with the settings, the embedder and the store that are named."""
    import ethogram

    from ..app.chat.confirmation import confirmer_of

    settings = o.load_config(config).settings
    confirmer = confirmer_of(evaluator or None, budget, settings)
    options: dict[str, Any] = {"embedder": None if embedder == "none" else embedder} if embedder else {}

    if store:
        from ..store import open_store

        # Closed with the command.
        opened = open_store(store, create=True)
        options["store"] = click.get_current_context().with_resource(opened)

    def make(name: str, subject: str) -> ethogram.Conversation:
        return ethogram.Conversation(name, subject=subject, settings=settings, evaluator=confirmer, **options)

    return make


def mode_of(name: str) -> int:
    """The place of a mode among all, 0 for none; BadUsage for an unknown one.

    >>> mode_of("suspect")
    3
    """
    if name and name.upper() not in MODES:
        hint = did_you_mean(name.upper(), MODES) or f": expected {', '.join(MODES)}"
        raise BadUsage(f"invalid --fail-on {name!r:.40}{hint}")
    return MODES.index(name.upper()) if name else 0
