"""SVG elements: safe by construction, since every text that is not made here is escaped."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape

from ..models import SEVERITIES
from .wording import printable

SHAPES = {
    "low": '<circle r="5"/>',
    "medium": '<path d="M0-6.5 6.5 0 0 6.5-6.5 0z"/>',
    "high": '<path d="M-5.2-5.2H5.2V5.2H-5.2z"/>',
    "critical": '<path d="M0-7 7 5.4H-7z"/>',
}
"""The mark of a severity: shape and hatching differ too, so that it is read without colour."""
HATCHES = {
    "low": '<circle class="ink" cx="3" cy="3" r="1.1"/>',
    "medium": '<path class="stripe" d="M-1 1 1-1M0 6 6 0M5 7 7 5"/>',
    "high": '<path class="stripe" d="M0 0V6M3 0V6"/>',
    "critical": '<path class="ink" d="M0 0H6V6H0z"/>',
}


def safe(text: object) -> Markup:
    """Text as it may stand between tags and in quotes; control characters are spelled out.

    >>> safe('<a title="x">')
    Markup('&lt;a title=&#34;x&#34;&gt;')
    """
    return text if isinstance(text, Markup) else escape(printable(str(text)))


def tag(name: str, /, *children: str, **attributes: object) -> Markup:
    """One element. An underscore in an attribute's name is a hyphen; one at the end is dropped.

    >>> str(tag("p", "a < b", class_="x", aria_label='"'))
    '<p class="x" aria-label="&#34;">a &lt; b</p>'
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    return Markup(f"<{name}{written}>{''.join(map(safe, children))}</{name}>")


def join(parts: Iterable[str]) -> Markup:
    """Several pieces as one."""
    return Markup("".join(map(safe, parts)))


def _attribute(key: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    return f' {name}="{number(value) if isinstance(value, (int, float)) else safe(value)}"'


def number(value: float) -> str:
    """A number in as few characters as a drawing needs.

    >>> number(12.0), number(33.3333)
    ('12', '33.33')
    """
    return f"{value:.2f}".rstrip("0").rstrip(".")


def percent(value: float) -> str:
    """A share of the width.

    >>> percent(33.3333)
    '33.33%'
    """
    return f"{number(value)}%"


def definitions() -> Markup:
    """The shapes and hatchings that the drawings refer to, not shown themselves."""
    shapes = [tag("g", Markup(SHAPES[severity]), id=f"mark-{severity}") for severity in SEVERITIES]
    size = {"width": 6, "height": 6, "patternUnits": "userSpaceOnUse"}
    hatches = [
        tag("pattern", Markup(HATCHES[severity]), id=f"hatch-{severity}", class_=f"l-{severity}", **size)
        for severity in SEVERITIES
    ]
    return tag("svg", tag("defs", *shapes, *hatches), class_="definitions", aria_hidden="true")


def mark(severity: str) -> Markup:
    """The shape of a severity, to stand in a line of text."""
    shape = tag("use", href=f"#mark-{severity}", x=8, y=8)
    return tag("svg", shape, class_=f"mark l-{severity}", width=16, height=16, aria_hidden="true")


def chip(severity: str) -> Markup:
    """The shape and the word of a severity."""
    return tag("span", mark(severity), severity, class_=f"chip l-{severity}")
