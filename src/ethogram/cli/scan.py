"""`ethogram scan`: what is worth a closer look in files of messages, and what that would cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .inputs import AsJson, Asked, Config, Paths, SkipBad, Source
from .output import printable, write_json, write_line

if TYPE_CHECKING:
    from ..app.evaluation.triage import Scanned
    from ..lexicon.triage import Route


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("scan")(scan)


def scan(
    paths: Paths,
    as_json: AsJson = False,
    show_prompt: Annotated[
        str, typer.Option(metavar="ID", help="Print what an evaluator would be given for this message.")
    ] = "",
    sample: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="The share of messages without a flag to evaluate too.")
    ] = 0.01,
    messages: Annotated[
        bool, typer.Option("--messages", help="Name every message that is worth a look, with its tier.")
    ] = False,
    skip_bad: SkipBad = False,
    source: Source = "",
    config: Config = "",
) -> None:
    """Scan messages for phrases: which are worth an evaluator's look, how wide, and at what cost."""
    from ..app.evaluation.triage import prompt_for, route_record, scan_events
    from ..patterns.library import Library
    from .progress import Progress

    asked = Asked(paths, config=config, source=source, skip_bad=skip_bad, as_json=as_json)
    progress = Progress()
    batch = asked.read(Library({}, ()), asked.settings(), progress)
    if show_prompt:
        system, user = prompt_for(batch.events, show_prompt, sampled=sample)
        if as_json:
            from ..patterns.listing import Prompt

            write_json(Prompt(id=show_prompt, system=system, user=user))
        else:
            for line in f"{system}\n\n{user}".split("\n"):
                write_line(printable(line))
        return
    routes: list[Route] = []
    with progress.checking("scanning"):
        found = scan_events(batch.events, sampled=sample, chosen=routes.append if messages else None)
    left = dict(batch.skipped)
    if as_json:
        for route in routes:
            write_json(route_record(route))
        write_json(found.summary(left_out=left, bad_lines=batch.bad_count))
        return
    for route in routes:
        said = ", ".join(route.scan.by_category or {}) or ("sampled" if route.sampled else "")
        write_line(printable(f"{route.tier:18} {route.event.id}  {route.event.subject}: {said}"))
    _tell(found)
    for what, count in left.items():
        write_line(f"left out: {count} x {printable(what)}")


def _tell(found: Scanned) -> None:
    said = found.to_dict()
    from .text import plural

    write_line(f"{plural(found.messages, 'message')} in {plural(len(found.threads), 'thread')}")
    if found.without_text:
        write_line(f"{plural(found.without_text, 'event')} without text left aside")
    write_line(f"{found.copies} repeat what their subject said before and are counted once")
    if found.unknown_language:
        write_line(f"{found.unknown_language} are in no language the lexicon knows: not measured")
    write_line("\ntier                messages   share   expected")
    for one in said["tiers"]:
        low, high = one["expected"]
        wanted = f"at least {low:.0%}" if low else f"at most {high:.0%}"
        mark = "" if one["as_expected"] else "   not as expected"
        write_line(f"{one['tier']:18}  {one['messages']:8}  {one['share']:6.2%}   {wanted}{mark}")
    write_line(f"{found.upgraded} upgraded by their thread, {found.sampled} sampled of those without a flag")
    _list("\nthread signals", found.signals.most_common())
    _list("most frequent categories", found.categories.most_common(10))
    flagged = [(one["subject"], f"{one['messages']} ({one['flags']} flags)") for one in said["most_flagged"]]
    _list("most flagged subjects, by messages", flagged)
    write_line("\ncost of evaluating        messages   low      high")
    prices = said["cost"]["llm"]
    for tier, (low, high) in prices.items():
        number = found.evaluated.get(tier, sum(found.evaluated.values()))
        write_line(f"{tier:18}  {number:14}   ${low:<8.2f}${high:.2f}")
    write_line("with the evaluator `local`: nothing")


def _list(title: str, rows: list[tuple[str, object]] | list[tuple[str, int]] | list[tuple[str, str]]) -> None:
    if rows:
        write_line(f"{title}: " + ", ".join(f"{printable(str(name))} {value}" for name, value in rows))
