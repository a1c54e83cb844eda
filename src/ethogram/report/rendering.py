"""Text reports from templates: `templates/text/NAME.txt` holds what a command prints.

Lines that begin with % are statements; `{##}` is an empty line. Every value becomes one printable line of at
most LONGEST characters, whatever the input held. Consecutive lines with tabs are a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from . import wording
from .wording import aligned, clean

if TYPE_CHECKING:
    from jinja2 import Environment

LONGEST = 2 * wording.LONGEST
FILTERS = (
    "clean", "counts_text", "duration_text", "listed", "mute_text", "p_text", "pairs_text", "plural",
    "precision_text", "risk_number", "risk_text", "scored_line", "skipped_text", "span", "stamp", "title_of",
    "until_text", "untrusted_answers", "value_text", "whom", "within",
)  # fmt: skip
"""Functions of wording.py that templates use."""


def rendered(template: str, **context: Any) -> Iterator[str]:
    """The lines of a template."""
    if text := environment().get_template(f"{template}.txt").render(context):
        yield from with_tables(text.removesuffix("\n").split("\n"))


@cache
def environment() -> Environment:
    """Where templates live: unknown names are errors."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    env = Environment(
        loader=PackageLoader("ethogram.report", "templates/text"),
        undefined=StrictUndefined,
        finalize=lambda value: clean(value, LONGEST),
        line_statement_prefix="%",
    )
    env.filters |= {name: getattr(wording, name) for name in FILTERS}
    env.filters |= {"f": format, "by_id": lambda items: {item.id: item for item in items}}
    return env


def with_tables(lines: Iterable[str]) -> Iterator[str]:
    """The lines, with cells between tabs as columns.

    >>> list(with_tables(["name\\tn", "a\\t10", "b\\t2", "end"]))
    ['name   n', 'a     10', 'b      2', 'end']
    """
    for is_table, group in groupby(lines, lambda line: "\t" in line):
        own = list(group)
        yield from aligned([line.split("\t") for line in own]) if is_table else own
