"""The report of an analysis as one HTML file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from .report_rest import family_of, left_out, quiet_and_without, unused_lines
from .text import clean, plural

if TYPE_CHECKING:
    from ..app.analyze import Analysis
    from ..app.run_record import Run
    from ..ingest import Gathered
    from ..patterns.library import Library


def write_html(
    path: str,
    analysis: Analysis,
    library: Library,
    batch: Gathered,
    *,
    muted: bool = False,
    runs: Sequence[Run] = (),
) -> None:
    """Write the page; a folder that is not there is made. BadUsage where it cannot be written."""
    from ..report.beside import Beside
    from ..report.page import page
    from .page_file import write_page

    quiet, without = quiet_and_without(analysis, library, batch) if analysis.events else ([], [])
    families = family_of(library)
    more = Beside(by_family(quiet, families), by_family(without, families), notes(analysis, batch))
    content = page(analysis, more, muted=muted, runs=runs)
    write_page(path, content)


def by_family(names: Iterable[str], families: Mapping[str, str]) -> dict[str, list[str]]:
    """Names by the family of their pattern; `name@k` only where `name` is not there.

    >>> by_family(["darvo", "darvo@2", "loop"], {"darvo": "conversation", "loop": "run"})
    {'conversation': ['darvo'], 'run': ['loop']}
    """
    known, found = set(names), dict[str, list[str]]()
    for name in sorted(known):
        if name.partition("@")[0] not in known - {name}:
            found.setdefault(families.get(name, "your own"), []).append(name)
    return dict(sorted(found.items()))


def notes(analysis: Analysis, batch: Gathered) -> list[str]:
    """What else there is to say, one line each."""
    told = []
    if analysis.kept:
        told.append(f"{plural(len(analysis.kept), 'detection')} of shadow patterns, not reported here")
    told += unused_lines(analysis.unused, analysis.evaluated)
    for (signal, reason), n in sorted(analysis.unmeasured.items()):
        told.append(f"Not measured: {clean(signal)} at {plural(n, 'event')}: {clean(reason)}")
    return [*told, *left_out(analysis, batch)]
