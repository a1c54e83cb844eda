"""The page: one file with everything in it, which asks nobody for anything."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from ..app.analyze import Analysis
from ..app.run_record import Run
from ..models import SEVERITIES, Detection
from .beside import Beside, beside
from .chart import Who, chart, grouped
from .html import Html, raw, tag
from .listing import listing
from .marks import chip, definitions, mark
from .runs import run_section
from .words import clean, plural, stamp

OPTIONS = 1_000
"""Names in one list of the filter."""
HOW = (
    "A bar lasts as long as the conduct did; an arrow at its end means that it goes on. The points are the "
    "events that count: choose one to read it."
)


def page(
    analysis: Analysis, more: Beside | None = None, *, muted: bool = False, runs: Sequence[Run] = ()
) -> str:
    """The whole report of an analysis (made with `traced=True`) as HTML.

    `muted` shows muted detections too; `runs` are those of agents, ranked. The same analysis gives the
    same page: there is no clock and no chance in it.
    """
    by = {one.id: entry for one, entry in analysis.muting.muted} if muted else {}
    shown = (*analysis.detections, *(one for one, _ in analysis.muting.muted if muted))
    numbers = {who: number for number, (who, _) in enumerate(grouped(shown))}
    body = [
        definitions(),
        header(analysis),
        tag("main", *_sections(analysis, more or Beside(), shown, numbers, by, runs)),
        panel(),
        tag("script", raw(asset("script.js"))),
    ]
    return "<!doctype html>\n" + tag("html", head(), tag("body", *body), lang="en") + "\n"


def _sections(
    analysis: Analysis,
    more: Beside,
    shown: Sequence[Detection],
    numbers: Mapping[Who, int],
    muted: Mapping[str, str],
    runs: Sequence[Run],
) -> list[Html]:
    if not shown or analysis.as_of is None:
        return [*run_section(runs), beside(analysis, more)]
    untimed = analysis.traces.untimed
    drawn = chart(shown, analysis.traces, analysis.as_of, numbers)
    return [
        filters(shown, numbers),
        tag("section", tag("h2", "Over time"), tag("p", HOW, class_="note"), drawn, id="chart"),
        *run_section(runs, numbers),
        tag(
            "section",
            tag("h2", "Detections"),
            listing(shown, numbers, untimed, muted),
            id="list",
        ),
        beside(analysis, more),
    ]


def head() -> Html:
    """Everything before the body; the policy lets in nothing but our own style and script."""
    style, script = asset("style.css"), asset("script.js")
    policy = (
        f"default-src 'none'; style-src {digest(style)}; script-src {digest(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=raw(policy)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("link", rel="icon", href="data:,"),
        tag("title", "ethogram report"),
        tag("style", raw(style)),
    )


def header(analysis: Analysis) -> Html:
    """How much was found in how much."""
    where = f"{plural(analysis.events, 'event')} of {plural(analysis.subjects, 'subject')}"
    if analysis.events and analysis.as_of and not analysis.traces.untimed:
        where += f", as of {stamp(analysis.as_of)} UTC"
    found = plural(len(analysis.detections), "detection") if analysis.detections else "Nothing was found"
    counts = Counter(one.severity for one in analysis.detections)
    tiles = [
        tag("li", mark(severity), tag("b", f"{counts[severity]:,}"), f" {severity}", class_=f"l-{severity}")
        for severity in reversed(SEVERITIES)
    ]
    muted = len(analysis.muting.muted)
    tail = [tag("p", f"{plural(muted, 'further detection')} muted", class_="note")] if muted else []
    return tag(
        "header",
        tag("p", "ethogram", class_="brand"),
        tag("h1", found),
        tag("p", where if analysis.events else "There are no events in this input.", class_="where"),
        tag("ul", *tiles, class_="tiles") if analysis.detections else raw(""),
        *tail,
    )


def filters(detections: Sequence[Detection], numbers: Mapping[Who, int]) -> Html:
    """The form that narrows chart, runs and list; without a script it is not shown, and all else is."""
    severities = [
        tag(
            "label",
            tag("input", type="checkbox", name="severity", value=severity, checked=True),
            chip(severity),
        )
        for severity in reversed(SEVERITIES)
        if any(one.severity == severity for one in detections)
    ]
    patterns = sorted({(clean(one.pattern), clean(one.title or one.pattern, 80)) for one in detections})
    subjects = [(str(number), clean(who[1], 80)) for who, number in numbers.items()]
    return tag(
        "form",
        tag("fieldset", tag("legend", "Severity"), *severities),
        _choice("pattern", "Pattern", "all patterns", patterns),
        _choice("subject", "Subject", "all subjects", sorted(subjects, key=lambda one: one[1])),
        tag("button", "Show all", type="reset"),
        tag("output", class_="count", aria_live="polite"),
        id="filters",
        hidden=True,
        aria_label="Show only",
    )


def _choice(name: str, label: str, every: str, options: Sequence[tuple[str, str]]) -> Html:
    listed = [tag("option", said, value=value) for value, said in options[:OPTIONS]]
    chosen = tag("select", tag("option", every, value=""), *listed, name=name)
    return tag("label", tag("span", label), chosen, class_="choice")


def panel() -> Html:
    """Where the script shows the event of a point."""
    close = tag("button", "×", type="button", class_="close", aria_label="Close")
    return tag(
        "aside", close, tag("div", id="said", aria_live="polite"), id="panel", hidden=True, aria_label="Event"
    )


@cache
def asset(name: str) -> str:
    """A file of this folder."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def digest(text: str) -> str:
    """The hash by which a policy lets an inline style or script in."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
