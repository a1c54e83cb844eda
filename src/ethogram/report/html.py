"""HTML that is safe by construction: what is not made here is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable

from .plain import printable

LONG_WORD = 24
VOID = frozenset({"meta", "link", "br", "input"})


class Html(str):
    """Markup made by `tag`, as against text, which is escaped wherever it is put."""

    __slots__ = ()


def escape(text: str) -> str:
    """Text as it may stand between tags and in quotes; control characters are spelled out.

    >>> escape('<a title="x">')
    '&lt;a title=&quot;x&quot;&gt;'
    """
    return text if isinstance(text, Html) else html.escape(printable(text), quote=True)


def tag(name: str, /, *children: str, **attributes: str | int | float | bool | None) -> Html:
    """One element. An underscore in an attribute's name is a hyphen; one at the end is dropped.

    >>> tag("p", "a < b", class_="x", aria_label='"')
    '<p class="x" aria-label="&quot;">a &lt; b</p>'
    """
    said = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in VOID:
        return Html(f"<{name}{said}>")
    return Html(f"<{name}{said}>{''.join(map(escape, children))}</{name}>")


def join(parts: Iterable[str], between: str = "") -> Html:
    """Several pieces as one."""
    return Html(escape(between).join(map(escape, parts)))


def cell(text: str) -> Html:
    """A cell of a table; one with a word that is too long for a column may be broken anywhere."""
    long = any(len(word) > LONG_WORD for word in text.split())
    return tag("td", text, class_="long" if long else None)


def raw(text: str) -> Html:
    """Text of our own that is markup already: the style, the script, the names of shapes."""
    return Html(text)


def _attribute(key: str, value: str | int | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    return f' {name}="{escape(value) if isinstance(value, str) else number(value)}"'


def number(value: float) -> str:
    """A number in as few characters as a drawing needs.

    >>> number(12.0), number(33.3333)
    ('12', '33.33')
    """
    return f"{value:.2f}".rstrip("0").rstrip(".")
