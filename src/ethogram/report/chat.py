"""Scored conversations as one page: the risk over the turns, and for each turn what moved it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..app.chat import (
    COMBINED,
    Followed,
    Scored,
    changes,
    excerpt,
    reason_of,
    rises,
    standing,
    summary_record,
)
from ..chat.records import Change
from ..models import Detection
from .html import Html, number, raw, tag
from .page import asset, digest
from .words import clean, plural, stamp

BANDS = (
    ("SAFE", 0.0, "safe"), ("CAUTIOUS", 0.15, "low"), ("ELEVATED", 0.30, "medium"), ("SUSPECT", 0.50, "high"),
    ("CRITICAL", 0.70, "critical"), ("UNSAFE", 0.85, "critical"),
)  # fmt: skip
"""The risk at which each mode begins, and the severity whose colour it has."""
SEVERITY_OF = {mode: severity for mode, _, severity in BANDS}
HEIGHT, LABELS = 150, 74
"""Of the drawing, and of the room at its right for the names of modes, in its own units."""
POINTS = 400
"""Turns that get a point of their own."""
TALKS, TURNS = 200, 2_000
"""Conversations, and turns of each, that are written out."""
REASONS = 5
"""Changes of the risk that are told of a turn."""


def chat_page(kept: Sequence[Scored], followed: Mapping[str, Followed], *, excerpts: bool = False) -> str:
    """The whole page. It loads nothing and runs nothing; what was said is there only with `excerpts`."""
    by_talk: dict[str, list[Scored]] = {}
    for one in kept:
        by_talk.setdefault(one.turn.thread, []).append(one)
    told = {name: summary_record(name, one) for name, one in followed.items()}
    gravest = sorted(told, key=lambda name: -told[name]["highest_risk"])
    talks = [talk(told[name], by_talk[name], excerpts=excerpts) for name in gravest[:TALKS]]
    left = len(gravest) - len(talks)
    more = [tag("p", f"{plural(left, 'conversation')} of less risk not shown", class_="note")] if left else []
    body = [header(list(told.values())), tag("main", *talks, *more, tag("p", COMBINED, class_="note"))]
    return "<!doctype html>\n" + tag("html", head(), tag("body", *body), lang="en") + "\n"


def head(title: str = "ethogram chat", style_file: str = "chat.css") -> Html:
    """Everything before the body; the policy lets in nothing but our own style."""
    style = asset("style.css") + asset(style_file)
    policy = (
        f"default-src 'none'; style-src {digest(style)}; img-src data:; base-uri 'none'; form-action 'none'"
    )
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=raw(policy)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("link", rel="icon", href="data:,"),
        tag("title", title),
        tag("style", raw(style)),
    )


def header(told: Sequence[Mapping[str, Any]]) -> Html:
    """How far the conversations went."""
    highest = max(told, key=lambda one: float(one["highest_risk"]), default=None)
    said = "There are no turns in this input."
    if highest is not None:
        said = f"{plural(len(told), 'conversation')}, {plural(sum(one['turns'] for one in told), 'turn')}"
    title = "Nothing was said" if highest is None else f"Highest: {highest['highest_mode']}"
    brand = tag("p", "ethogram", class_="brand")
    return tag("header", brand, tag("h1", title), tag("p", said, class_="where"))


def talk(told: Mapping[str, Any], turns: Sequence[Scored], *, excerpts: bool) -> Html:
    """One conversation."""
    when = ", ".join(f"{mode} from turn {turn}" for mode, turn in rises(told["first"]))
    facts = f"{plural(told['turns'], 'turn')}, highest risk {told['highest_risk']:.2f}"
    rows = [row(one, excerpts=excerpts) for one in turns[:TURNS]]
    names = ("turn", "who", "mode", "risk", "what moved it")
    top = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in names)))
    left = len(turns) - len(rows)
    more = [tag("p", f"and {plural(left, 'turn')} more", class_="note")] if left else []
    return tag(
        "section",
        tag("h2", mode_mark(told["highest_mode"]), " ", tag("bdi", clean(told["conversation"], 120))),
        tag("p", f"{facts}; {when}" if when else facts, class_="note"),
        curve([one.state.risk for one in turns], [one.state.mode.name for one in turns]),
        tag("table", top, tag("tbody", *rows), class_="turns"),
        *more,
        class_="talk",
    )


def mode_mark(mode: str) -> Html:
    """A mode in its colour; its name says it without."""
    return tag("span", mode, class_=f"mode l-{SEVERITY_OF[mode]}")


def curve(risks: Sequence[float], modes: Sequence[str]) -> Html:
    """The risk over the turns, on bands of the modes."""
    width, last = 1000 - LABELS, max(1, len(risks) - 1)
    places = [(width * k / last, HEIGHT * (1 - risk)) for k, risk in enumerate(risks)]
    line = tag("polyline", points=" ".join(f"{number(x)},{number(y)}" for x, y in places))
    dots: list[Html] = []
    if len(risks) <= POINTS:
        dots = [
            tag(
                "circle",
                tag("title", f"turn {k}: {modes[k - 1]} {risks[k - 1]:.2f}"),
                cx=x,
                cy=y,
                r=3,
                class_=f"l-{SEVERITY_OF[modes[k - 1]]}",
            )
            for k, (x, y) in enumerate(places, start=1)
        ]
    said = f"Risk over {plural(len(risks), 'turn')}, from {risks[0]:.2f} to {risks[-1]:.2f}"
    box = f"0 0 1000 {HEIGHT}"
    return tag("svg", *_bands(width), line, *dots, class_="curve", viewBox=box, role="img", aria_label=said)


def _bands(width: float) -> Iterator[Html]:
    ends = [*(floor for _, floor, _ in BANDS[1:]), 1.0]
    for (mode, floor, severity), end in zip(BANDS, ends, strict=True):
        top = HEIGHT * (1 - end)
        yield tag("rect", x=0, y=top, width=width, height=HEIGHT * (end - floor), class_=f"band l-{severity}")
        if floor:
            yield tag("line", x1=0, x2=width, y1=HEIGHT * (1 - floor), y2=HEIGHT * (1 - floor), class_="edge")
        yield tag("text", mode, x=width + 8, y=top + HEIGHT * (end - floor) / 2 + 4)


def row(one: Scored, *, excerpts: bool) -> Html:
    """One turn."""
    cells = [
        tag("td", str(one.number), *_when(one)),
        tag("td", one.turn.role),
        tag("td", mode_mark(one.state.mode.name)),
        tag("td", f"{one.state.risk:.2f}"),
        tag("td", *_said(one, excerpts), *_reasons(one)),
    ]
    return tag("tr", *cells, class_=f"of-{one.turn.role}")


def _when(one: Scored) -> list[Html]:
    return [] if one.turn.at is None else [tag("small", f" {stamp(one.turn.at)}")]


def _said(one: Scored, excerpts: bool) -> list[Html]:
    return [tag("span", excerpt(one.turn.text, 300), class_="said")] if excerpts else []


def _reasons(one: Scored) -> list[Html]:
    moved = changes(one, REASONS)
    items = [_change(each, reason_of(each, one.state)) for each in moved]
    items += [tag("li", clean(line), class_="kept") for line in standing(one, moved=bool(moved))]
    items += [_found(found) for found in one.detections]
    return [tag("ul", *items)] if items else []


def _change(each: Change, reason: str) -> Html:
    by = tag("span", f"{each.by:+.2f}", class_="up" if each.by > 0 else "down")
    return tag("li", by, f" {clean(each.name)}: {clean(reason)}")


def _found(one: Detection) -> Html:
    return tag(
        "li", tag("b", f"detected {clean(one.pattern)} ({one.severity})"), f": {clean(one.explanation)}"
    )
