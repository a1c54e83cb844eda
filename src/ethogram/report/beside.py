"""What a page says beside its detections: quiet, unanswered, muted, left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..app.analyze import Analysis
from .html import Html, cell, tag
from .words import clean, mute_text, plural, until_text

FAULTS = 20
"""Bad lines told one by one."""
LACKING = 200
"""Patterns and reasons of insufficient data told one by one."""


@dataclass(frozen=True, slots=True)
class Beside:
    """What the caller knows: patterns by family that were quiet or had nothing to read, and more to say."""

    quiet: Mapping[str, Sequence[str]] = field(default_factory=dict)
    without: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notes: Sequence[str] = ()


def beside(analysis: Analysis, more: Beside) -> Html:
    """The sections under the list; those with nothing to say are left out."""
    return tag("div", *_sections(analysis, more), class_="beside")


def _sections(analysis: Analysis, more: Beside) -> Iterator[Html]:
    if more.quiet:
        yield _section("Checked and quiet", "Could have been found, and was not.", _families(more.quiet))
    if analysis.insufficient:
        total = plural(len(analysis.insufficient), "history")
        said = f"{total}: neither found nor quiet, for there was too little to go by."
        yield _section("Insufficient data", said, _insufficient(analysis))
    if analysis.muting.entries:
        said = f"{plural(len(analysis.muting.muted), 'detection')} not told, as somebody said they are known."
        yield _section("Muted", said, _muted(analysis))
    if more.without:
        yield _section("Nothing to go by", "No event carries what these read.", _families(more.without))
    if more.notes:
        yield _section("Also", "", tag("ul", *(tag("li", clean(note, 400)) for note in more.notes)))
    if analysis.bad:
        yield _section("Bad lines", f"{plural(analysis.bad_count, 'line')} left out.", _bad(analysis))


def _section(title: str, said: str, content: Html) -> Html:
    sentence = [tag("p", said, class_="note")] if said else []
    return tag("section", tag("h2", title), *sentence, content)


def _families(families: Mapping[str, Sequence[str]]) -> Html:
    pairs = [
        tag("div", tag("dt", clean(family, 60)), tag("dd", *(tag("span", clean(one, 80)) for one in names)))
        for family, names in families.items()
    ]
    return tag("dl", *pairs, class_="families")


def _insufficient(analysis: Analysis) -> Html:
    counts = Counter((one.program.name, one.reason) for one in analysis.insufficient)
    rows = [
        tag("tr", cell(clean(name, 80)), cell(f"{n:,}"), cell(clean(reason)))
        for (name, reason), n in sorted(counts.items())[:LACKING]
    ]
    head = tag("tr", *(tag("th", name, scope="col") for name in ("pattern", "histories", "reason")))
    left = (
        []
        if len(counts) <= LACKING
        else [tag("tr", tag("td", f"and {len(counts) - LACKING} more", colspan=3))]
    )
    return tag("table", tag("thead", head), tag("tbody", *rows, *left), class_="plain")


def _muted(analysis: Analysis) -> Html:
    muting = analysis.muting
    rows = [
        tag("tr", *map(cell, (one.id, mute_text(one), clean(one.reason), until, count)))
        for one in muting.entries
        for until, count in [(until_text(one, muting.expired), f"{muting.count(one):,}")]
    ]
    names = ("entry", "mutes", "reason", "until", "detections")
    head = tag("tr", *(tag("th", name, scope="col") for name in names))
    return tag("table", tag("thead", head), tag("tbody", *rows), class_="plain")


def _bad(analysis: Analysis) -> Html:
    told = [tag("li", clean(str(fault), 400)) for fault in analysis.bad[:FAULTS]]
    left = analysis.bad_count - len(told)
    more = [tag("li", f"and {left:,} more")] if left > 0 else []
    return tag("ul", *told, *more)
