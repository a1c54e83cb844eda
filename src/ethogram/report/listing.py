"""The list of detections: everything that is to be said about each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..models import Detection, Evidence
from .anchors import detection_anchor, evidence_anchor, rows_for, shown_evidence
from .html import Html, cell, join, tag
from .marks import chip
from .words import clean, gravest_first, pairs_text, plural, sentence, span, stamp, value_text, whom

Who = tuple[str, str]
LONG = 600


def listing(
    detections: Sequence[Detection],
    numbers: Mapping[Who, int],
    untimed: frozenset[str],
    muted: Mapping[str, str],
) -> Html:
    """All of them, the gravest first. `muted` says of a detection's id which entry mutes it."""
    rows = rows_for(len(detections))
    return join(
        article(
            one, numbers[one.source, one.subject], timed=one.source not in untimed, rows=rows, muted=muted
        )
        for one in gravest_first(detections)
    )


def article(
    one: Detection, number: int, *, timed: bool = True, rows: int, muted: Mapping[str, str] = {}
) -> Html:
    """One detection."""
    parts = [
        tag("h3", chip(one.severity), clean(one.title or one.pattern, 120)),
        tag(
            "p",
            tag("bdi", whom(one)),
            tag("span", span(one.opened_at, one.closed_at, timed=timed)),
            class_="who",
        ),
        tag("p", sentence(one), class_="explanation"),
    ]
    if one.evidence:
        parts.append(evidence_table(one, timed=timed, rows=rows))
    if one.details:
        parts.append(_details(one))
    if one.recommendation:
        parts.append(tag("p", tag("b", "What to do"), clean(one.recommendation, LONG), class_="advice"))
    parts.append(_facts(one, muted.get(one.id)))
    return tag(
        "article",
        *parts,
        id=detection_anchor(one),
        class_=f"detection l-{one.severity}",
        data_severity=one.severity,
        data_pattern=clean(one.pattern),
        data_subject=number,
    )


def evidence_table(one: Detection, *, timed: bool, rows: int) -> Html:
    """The events that count, one row each; of many, the first and the last."""
    shown = shown_evidence(one, rows)
    excerpts = any(evidence.excerpt is not None for _, evidence in shown)
    names = ["step", "time" if timed else "number", "event", "readings", *(["excerpt"] if excerpts else [])]
    hidden = len(one.evidence) - len(shown)
    lines = [_row(one, index, evidence, timed, excerpts) for index, evidence in shown]
    if hidden:
        said = tag("td", f"{plural(hidden, 'event')} more", colspan=len(names))
        lines.insert(rows // 2, tag("tr", said, class_="more"))
    head = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in names)))
    return tag("table", head, tag("tbody", *lines))


def _row(one: Detection, index: int, evidence: Evidence, timed: bool, excerpts: bool) -> Html:
    cells = [
        clean(evidence.step, 60),
        stamp(evidence.at, timed=timed),
        clean(evidence.event, 80),
        clean(pairs_text(evidence.readings), LONG),
        *([clean(evidence.excerpt or "")] if excerpts else []),
    ]
    return tag("tr", *map(cell, cells), id=evidence_anchor(one, index))


def _details(one: Detection) -> Html:
    pairs = (
        tag("div", tag("dt", clean(name, 60)), tag("dd", clean(value_text(value), LONG)))
        for name, value in one.details.items()
    )
    return tag("dl", *pairs)


def _facts(one: Detection, muted: str | None) -> Html:
    facts = [
        ("pattern", f"{clean(one.pattern, 80)} {clean(one.version, 20)}"),
        ("confidence", f"{one.confidence:.2f}"),
        *([] if one.probability is None else [("by verdicts right", f"{one.probability:.0%}")]),
        ("measured by", clean(one.scorer, 120)),
        ("id", clean(one.id, 60)),
    ]
    if muted is not None:
        facts.append(("muted by", clean(muted, 60)))
    said = (tag("span", tag("span", name), f" {value}") for name, value in facts)
    return tag("p", *said, class_="facts")
