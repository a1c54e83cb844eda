"""Marks: how a severity looks. Shape and hatching say it too, so that it is read without colour."""

from __future__ import annotations

from ..models import SEVERITIES
from .html import Html, join, raw, tag

SHAPES = {
    "low": '<circle r="5"/>',
    "medium": '<path d="M0-6.5 6.5 0 0 6.5-6.5 0z"/>',
    "high": '<path d="M-5.2-5.2H5.2V5.2H-5.2z"/>',
    "critical": '<path d="M0-7 7 5.4H-7z"/>',
}
HATCHES = {
    "low": '<circle class="ink" cx="3" cy="3" r="1.1"/>',
    "medium": '<path class="stripe" d="M-1 1 1-1M0 6 6 0M5 7 7 5"/>',
    "high": '<path class="stripe" d="M0 0V6M3 0V6"/>',
    "critical": '<path class="ink" d="M0 0H6V6H0z"/>',
}


def definitions() -> Html:
    """The shapes and hatchings that the drawings refer to, not shown themselves."""
    shapes = [tag("g", raw(SHAPES[severity]), id=f"mark-{severity}") for severity in SEVERITIES]
    hatches = [
        tag(
            "pattern",
            raw(HATCHES[severity]),
            id=f"hatch-{severity}",
            class_=f"l-{severity}",
            width=6,
            height=6,
            patternUnits="userSpaceOnUse",
        )
        for severity in SEVERITIES
    ]
    return tag("svg", tag("defs", *shapes, *hatches), class_="definitions", aria_hidden="true")


def mark(severity: str) -> Html:
    """The shape of a severity, to stand in a line of text."""
    shape = tag("use", href=f"#mark-{severity}", x=8, y=8)
    return tag("svg", shape, class_=f"mark l-{severity}", width=16, height=16, aria_hidden="true")


def chip(severity: str) -> Html:
    """The shape and the word."""
    return tag("span", join([mark(severity), severity]), class_=f"chip l-{severity}")
