"""`ethogram lexicon`: what the scanner looks for, and how well that does on real messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from .inputs import AsJson
from .output import printable, write_json, write_line

Data = Annotated[Path, typer.Option("--data", help="A folder of conversations, *.jsonl or *.jsonl.gz.")]
Rate = Annotated[str, typer.Option("--rate", help="The file whose messages rates are of.")]


def register(app: typer.Typer) -> None:
    """Adds the group."""
    group = typer.Typer(help="The phrases that the scanner looks for.", no_args_is_help=True)
    group.command("list")(list_categories)
    group.command("measure")(measure)
    group.callback()(lambda: None)
    app.add_typer(group, name="lexicon")


def list_categories(as_json: AsJson = False) -> None:
    """List the categories with what was measured of each."""
    from ..lexicon.lexicon import load_lexicon
    from ..patterns.listing import CategoryRow

    lexicon = load_lexicon()
    if not as_json:
        write_line(
            f"lexicon {lexicon.version}, {sum(len(one.phrases) for one in lexicon.categories)} phrases"
        )
        write_line(f"{'trait':<16}{'category':<24}{'phrases':>7}  {'per 10,000':>10}  precision")
    for one in lexicon.categories:
        right, sampled = one.precision
        if as_json:
            write_json(
                CategoryRow(
                    name=one.name,
                    trait=one.trait,
                    language=one.language,
                    description=one.about,
                    indicator=one.indicator,
                    phrases=len(one.phrases),
                    hits_per_10000=one.hits_per_10000,
                    right=right,
                    sampled=sampled,
                    lexicon=lexicon.version,
                )
            )
        else:
            rate = f"{one.hits_per_10000:>10g}"
            write_line(f"{one.trait:<16}{one.name:<24}{len(one.phrases):>7}  {rate}  {right} of {sampled}")


def measure(data: Data, rate: Rate = "moltbook_threads") -> None:
    """Count the hits of every category on real messages, and show some of them to be judged.

    Nothing is written down: what the messages say stays where it is.
    """
    from ..lexicon.measure import measure

    for one in measure(_messages(data), rate):
        head = f"{one.category.trait} / {one.category.name}: {one.hits_per_10000:g} per 10,000"
        write_line(f"{head}, {one.found} different texts, {len(one.samples)} shown")
        for sample in one.samples:
            text = f"{sample.before}[[{sample.hit}]]{sample.after}"
            write_line(printable(f"  {sample.file:<18} {' '.join(text.split())}"))
        if one.never:
            write_line(printable(f"  never hit: {'; '.join(one.never)}"))


def _messages(folder: Path) -> Iterator[tuple[str, str]]:
    """File and text of every turn in every conversation."""
    from ..errors import BadUsage

    paths = sorted([*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")])
    if not paths:
        raise BadUsage(f"no conversations in {str(folder)!r}; name a folder with *.jsonl or *.jsonl.gz in it")
    for path in paths:
        name = path.name.partition(".")[0]
        for line in _lines(path):
            said: Any = json.loads(line)
            turns = said.get("turns", [said]) if isinstance(said, dict) else []
            for turn in turns:
                if isinstance(text := turn.get("text"), str):
                    yield name, text


def _lines(path: Path) -> Iterator[str]:
    import gzip

    if path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as stream:
            yield from stream
    else:
        with path.open(encoding="utf-8", errors="replace") as stream:
            yield from stream
