"""`ethogram risk`: where subjects stand, what that is made of, and what it would be without a part."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .inputs import AsJson, Asked, Config, Source
from .output import write_json, write_line
from .stored import StoreUrl, note_all, now
from .usage_common import IsPseudonym, KeyFile, Who, Why, user_name, whom

AsOf = Annotated[
    str,
    typer.Option(metavar="TIME", help="The moment of the question; without it, the newest the store knows."),
]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("risk")(risk)


def risk(
    store: StoreUrl,
    subject: Annotated[str, typer.Argument(help="The subject; without it, all of them.")] = "",
    source: Source = "",
    as_of: AsOf = "",
    without: Annotated[
        list[str],
        typer.Option("--without", metavar="DETECTION", help="What if this had not been; repeatable."),
    ] = [],  # noqa: B006 (typer copies it)
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many subjects are listed; JSON has all.")
    ] = 50,
    key: KeyFile = "",
    why: Why = "",
    who: Who = "",
    is_pseudonym: IsPseudonym = False,
    config: Config = "",
    as_json: AsJson = False,
) -> None:
    """Say how high the risk of a subject is and what makes it up; without a subject, rank all of them."""
    from ..app.risk import Muted, risk_record, subject_risk, subject_risks
    from ..app.stored_events import note_looks, stored_name
    from ..patterns.settings_check import check_patterns
    from ..store import open_store
    from .progress import Progress
    from .risk_text import ranking, risk_lines

    if without and not subject:
        raise typer.BadParameter("--without asks about one subject: name it")
    asked = Asked((), as_of, config, as_json=as_json)
    loaded, moment = asked.loaded(), asked.moment()
    check_patterns(loaded)
    settings, muted = loaded.settings, Muted(asked.mutes(loaded), now())
    progress = Progress()
    with open_store(store) as opened, progress.checking("adding up"):
        untimed = {one.name for one in opened.sources().values() if not one.timed}
        if subject:
            given = whom(subject, is_pseudonym)
            called, by = stored_name(opened, given, key), who or user_name()
            note_looks(opened, "risk", [called], at=now(), who=by, why=why, subject=given)
            how: dict[str, Any] = {"source": source or None, "as_of": moment, "settings": settings}
            told = subject_risk(opened, called, **how, without=without, muted=muted)
        else:
            note_all(opened, "risk")
            found = subject_risks(opened, source=source or None, as_of=moment, settings=settings, muted=muted)
    if not subject:
        if as_json:
            for one in found:
                write_json(one.to_dict())
            return
        at = found[0].composition.as_of if found else None
        for line in ranking(found, at, limit):
            write_line(line)
    elif as_json:
        write_json(risk_record(told))
    else:
        if without:
            write_line(f"Without {', '.join(without)} and what stands on it:")
        for line in risk_lines(told, timed=told.source not in untimed):
            write_line(line)
