"""`ethogram verdict`: whether a detection was right, or its absence; by one judge or several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from .inputs import AsJson, Asked, Config, Source
from .output import write_json, write_line
from .stored import StoreUrl, moment, now
from .usage_common import IsPseudonym, KeyFile, user_name, whom

if TYPE_CHECKING:
    from datetime import datetime

    from ..app.verdicts import NonDetection, VerdictInput
    from ..config import Settings
    from ..models import Verdict
    from ..store import Store


By = Annotated[str, typer.Option("--by", metavar="NAME", help="Who judges; without it, your user name.")]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("verdict")(verdict)


def verdict(
    store: StoreUrl,
    detection: Annotated[str, typer.Argument(metavar="[DETECTION]", help="Its id.", show_default=False)] = "",
    said: Annotated[
        str,
        typer.Argument(
            metavar="[VERDICT]",
            help="confirmed or false_alarm; without one, what was said so far.",
            show_default=False,
        ),
    ] = "",
    missed: Annotated[
        str, typer.Option(metavar="PATTERN", help="This should have been detected, and was not.")
    ] = "",
    correct_silence: Annotated[
        str, typer.Option(metavar="PATTERN", help="This was not detected, and rightly so.")
    ] = "",
    subject: Annotated[str, typer.Option(metavar="NAME", help="Whose silence.")] = "",
    first: Annotated[str, typer.Option("--from", metavar="EVENT", help="Where the silence begins.")] = "",
    last: Annotated[str, typer.Option("--to", metavar="EVENT", help="Where it ends.")] = "",
    source: Source = "",
    file: Annotated[str, typer.Option(metavar="CSV", help="Many verdicts: all of the file or none.")] = "",
    second: Annotated[
        bool, typer.Option("--second", help="Show a detection that needs a second judge, blind.")
    ] = False,
    listed: Annotated[bool, typer.Option("--list", help="All verdicts, oldest first.")] = False,
    why: Annotated[str, typer.Option(metavar="WORDS", help="Why you think so.")] = "",
    by: By = "",
    blind: Annotated[bool, typer.Option("--blind", help="You have not seen what others said of it.")] = False,
    at: Annotated[str, typer.Option(metavar="TIME", help="When it was judged; without it, now.")] = "",
    key: KeyFile = "",
    is_pseudonym: IsPseudonym = False,
    config: Config = "",
    as_json: AsJson = False,
) -> None:
    """Say whether a detection was right (confirmed, false_alarm), what was missed, or rightly not told."""
    from ..app.stored_events import note_looks
    from ..app.verdicts import VerdictInput
    from ..errors import BadUsage
    from ..store import open_store

    check_one(detection, missed, correct_silence, file, second, listed)
    if (listed or (detection and not said)) and (why or by or blind or at):
        raise BadUsage("what do you say? DETECTION confirmed or DETECTION false_alarm; nothing was kept")
    settings = Asked(config=config).settings()
    when, judge = moment(at, "--at") or now(), by or user_name()
    with open_store(store) as opened:
        if second:
            tell_second(opened, judge, settings, as_json=as_json)
            return
        if listed or (detection and not said):
            tell_said(opened, detection, as_json=as_json)
            return
        note_looks(opened, "verdict", [None], at=now(), who=judge, why=why, subject=subject or None)
        if file:
            keep_file(opened, file, settings, judge, when, as_json=as_json)
            return
        of: str | NonDetection = detection
        if not detection:
            asked = (missed or correct_silence, subject, first, last, source)
            of = silence(opened, asked, key, is_pseudonym=is_pseudonym)
        word = said or ("missed" if missed else "correct_silence")
        keep_one(opened, VerdictInput(word, judge, when, of, why, blind), settings, as_json=as_json)


def silence(store: Store, asked: Sequence[str], key: str, *, is_pseudonym: bool) -> NonDetection:
    """The stretch that is meant, by the names that the store has: a private one has its own."""
    from ..app.stored_events import stored_event, stored_name, stored_source
    from ..app.verdicts import NonDetection

    pattern, subject, first, last, source = asked
    name = stored_name(store, whom(subject, is_pseudonym), key) if subject else ""
    if not is_pseudonym:
        first, last = (stored_event(store, one, key) for one in (first, last))
    return NonDetection(pattern, name, first, last, stored_source(store, source, key))


def check_one(*given: object) -> None:
    """BadUsage unless exactly one thing was asked for."""
    from ..errors import BadUsage

    if [bool(one) for one in given].count(True) != 1:
        raise BadUsage(
            "say one thing: DETECTION confirmed, DETECTION false_alarm, --missed PATTERN, "
            "--correct-silence PATTERN, --file CSV, --second or --list"
        )


def keep_one(store: Store, said: VerdictInput, settings: Settings, *, as_json: bool) -> None:
    """Keep one verdict, and tell it."""
    from ..app.verdicts import check_verdict, save_verdicts

    found = check_verdict(store, said, settings, now=now())
    kept = save_verdicts(store, [found])
    if as_json:
        write_json(found.to_dict())
    else:
        write_line(line(found) + ("" if kept.added else "  (known already)"))
    tell_settled(store, settings, as_json=as_json)


def keep_file(
    store: Store, path: str, settings: Settings, judge: str, at: datetime, *, as_json: bool
) -> None:
    """Keep the verdicts of a file, and tell how many."""
    from ..app.verdicts import read_verdicts, save_verdicts
    from .progress import Progress
    from .text import plural

    with Progress().checking("checking the verdicts"):
        kept = save_verdicts(store, read_verdicts(path, store, settings, by=judge, at=at, now=now()))
    if as_json:
        write_json(kept)
    else:
        write_line(f"{plural(kept.added, 'verdict')} added; known already: {kept.repeated:,}")
    tell_settled(store, settings, as_json=as_json)


def tell_settled(store: Store, settings: Settings, *, as_json: bool) -> None:
    """Count what was judged long ago, and say so: its verdicts are gone then."""
    import sys

    from ..app.verdicts import settle
    from ..config.settings import learning_in
    from .text import plural

    settled = settle(store, settings, now())
    if settled and not as_json:
        days = learning_in(settings)["history_retention_days"]
        what = plural(settled, "thing") + f" judged more than {days} days ago"
        write_line(
            f"{what}: the counts stay, the verdicts are gone (learning.history_retention_days)", to=sys.stderr
        )


def tell_second(store: Store, judge: str, settings: Settings, *, as_json: bool) -> None:
    """Show the next detection that this judge should judge too, without what others said of it."""
    from ..app.accuracy import second_judge_queue
    from ..app.stored_events import note_looks
    from .report import detection_parts
    from .text import show

    waiting = second_judge_queue(store, judge, settings)
    if not waiting:
        if not as_json:
            write_line(f"nothing waits for a second verdict by {judge}")
        return
    one = waiting[0]
    note_looks(store, "second look", [one.subject], at=now(), who=judge)
    if as_json:
        write_json(one.to_dict())
        return
    untimed = {source.name for source in store.sources().values() if not source.timed}
    how = f"ethogram verdict {one.id} confirmed|false_alarm --blind --by {judge} --store ..."
    show(*detection_parts(one, timed=one.source not in untimed), "", f"{len(waiting)} wait. To judge: {how}")


def tell_said(store: Store, detection: str, *, as_json: bool) -> None:
    """All verdicts, or those on one detection, oldest first."""
    from .stored import note_all

    note_all(store, "verdicts")
    if detection:
        from ..app.verdicts import find_detection

        find_detection(store, detection)
    found = store.verdicts(detection or None)
    for one in found:
        if as_json:
            write_json(one.to_dict())
        else:
            write_line(line(one))
    if not found and not as_json:
        write_line("no verdicts")


def line(one: Verdict) -> str:
    """One verdict in a line."""
    from .text import clean, stamp

    what = f"{clean(one.pattern)} {one.detection}"
    if one.detection is None:
        where = f"{clean(one.first_event or '')} to {clean(one.last_event or '')}"
        what = f"{clean(one.pattern)} of {clean(one.subject or '')}, {where}"
    more = f": {clean(one.why)}" if one.why else ""
    return f"{stamp(one.at)}  {one.verdict}  {what}  by {clean(one.by)}{', blind' if one.blind else ''}{more}"
