"""Masking: what is shown as evidence, without secrets and personal data.

Rules look at form only: what has the form of a key, an address or a number of somebody is replaced by a
word in brackets. Every rule is linear, and no more than MOST_READ characters are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from .event import Event, Value
from .mask_rules import RULES

MOST_READ = 2_000
MOST_SHOWN = 200

_TELLING = re.compile(r"[0-9@=:]|--|bearer|basic", re.IGNORECASE)
"""Without any of these, no rule can apply."""


def mask(text: str, keep: Iterable[str] = ()) -> str:
    """The text with secrets and personal data replaced; what stands in one of `keep` is left.

    >>> mask("mail ann@example.com, key sk-proj-4fT9aQ2LxW8zR7Kd")
    'mail [e-mail], key [secret]'
    >>> mask("ann@example.com was warm", keep=["ann@example.com"])
    'ann@example.com was warm'
    """
    text = _cut(text)
    if not _TELLING.search(text):
        return text
    kept = tuple(keep)
    for pattern, replaced in RULES:
        text = pattern.sub(_unless_kept(replaced, kept), text)
    return text


def masked(value: Value) -> Value:
    """A reading as it is shown: numbers as they are, categories masked."""
    return mask(value) if isinstance(value, str) else value


def excerpt(event: Event) -> str | None:
    """What the event says, masked, in at most MOST_SHOWN characters; None where it says nothing.

    That is its text; without one, the command or else the path it is about.
    """
    found = (event.text, event.attributes.get("command"), event.attributes.get("path"))
    said = next((one for one in found if isinstance(one, str) and one.strip()), None)
    if said is None:
        return None
    shown = " ".join(mask(said).split())
    return shown if len(shown) <= MOST_SHOWN else shown[: MOST_SHOWN - 1] + "…"


def _cut(text: str) -> str:
    """At most MOST_READ characters; a word that would be cut in two is left out: it may be half a key."""
    if len(text) <= MOST_READ:
        return text
    head = text[:MOST_READ]
    whole = head if text[MOST_READ].isspace() else head.rsplit(None, 1)[0]
    return f"{whole} …"


def _unless_kept(
    replaced: Callable[[re.Match[str]], str], kept: tuple[str, ...]
) -> Callable[[re.Match[str]], str]:
    if not kept:
        return replaced
    return lambda match: match[0] if any(match[0] in name for name in kept) else replaced(match)
