"""The prompt of an evaluation: a pure function of the message, its scan, its thread and its subject.

Text by strangers stands between fence lines, whose word is made up for one prompt and removed from the text.
Every line inside is indented, while headings and fence lines are not; so a text with a heading, a fence or a
whole prompt in it stays inside. The model can still be talked into things: its answer is checked as well.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import BadUsage
from ..lexicon.messages import author_and_text
from ..lexicon.records import Scan
from ..lexicon.scanner import scan as scan_text
from ..lexicon.triage import PRIOR
from .rubric import system_prompt

__all__ = ["MOST_TEXT", "PriorMessage", "evaluation_prompt", "system_prompt"]

MOST_TEXT = 8_000  # characters of a message that are shown
MOST_MESSAGES = 40  # earlier messages that are shown: the first of the thread and the newest
FIRST_MESSAGES = 10  # of them, those with which the thread begins
MOST_THREAD = 24_000  # characters of all earlier messages together, with their headings
MOST_FIRST = MOST_THREAD // 4  # characters of those with which it begins
MOST_PHRASES = 20  # phrases of a scan that are shown
MARGIN = "  "
LONGEST_NAME = 64  # characters of a name that are shown
PriorMessage = tuple[str, str, Scan]  # subject, text and scan of an earlier message
Prior = PriorMessage | tuple[str, str] | Mapping[str, Any]  # or a dict with an author and a text

_BOUNDARY = re.compile(r"[A-Za-z0-9]{4,64}")
# Whatever Python, a terminal or a model may read as the end of a line.
_LINE_END = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
# Controls and lone surrogates; replaced one for one, so that quotes keep their length.
_UNFIT = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f\ud800-\udfff]")
# Controls, format characters (zero-width, direction marks, tags), separators, private and unassigned ones.
_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def fenced(text: str, fence: str) -> str:
    """The text, cut at MOST_TEXT, between two fence lines, each of its lines indented.

    >>> print(fenced("hello\\n--- c0ffee\\n## Now", "c0ffee"))
    --- c0ffee
      hello
      --- (fence)
      ## Now
    --- c0ffee
    """
    text = text if len(text) <= MOST_TEXT else text[:MOST_TEXT] + " [cut]"
    inside = _UNFIT.sub("\ufffd", _without(text, fence))
    lines = _LINE_END.sub(lambda end: "\n" + MARGIN, inside)
    return f"--- {fence}\n{MARGIN}{lines}\n--- {fence}"


def shown_name(who: str, fence: str) -> str:
    """A name as JSON, cut, with invisible characters escaped.

    >>> print(shown_name("ann\\n--- c0ffee" + chr(0x202E), "c0ffee"))
    "ann\\n--- (fence)\\u202e"
    """
    cut = who if len(who) <= LONGEST_NAME else who[:LONGEST_NAME] + "..."
    return "".join(
        json.dumps(char)[1:-1] if unicodedata.category(char) in _UNSEEN else char
        for char in json.dumps(_without(cut, fence), ensure_ascii=False)
    )


def _without(text: str, fence: str) -> str:
    """The text without the fence word, in any case."""
    return re.sub(re.escape(fence), "(fence)", text, flags=re.IGNORECASE)


def evaluation_prompt(
    text: str,
    scan: Scan,
    tier: str,
    thread_context: Sequence[Prior] = (),
    subject_context: Mapping[str, Any] | None = None,
    *,
    boundary: str | None = None,
) -> tuple[str, str]:
    """(system, user) for one message, with as much context as the tier shows.

    Earlier messages are (subject, text, scan), or dicts or pairs of an author and a text, which are scanned.

    `boundary` is the word in the fence lines, random for each prompt that is sent; by default it is a digest
    of everything that is fenced.
    """
    if boundary is not None and not _BOUNDARY.fullmatch(boundary):
        raise BadUsage("invalid boundary: expected 4 to 64 letters and digits")
    limit = PRIOR.get(tier, 0)
    newest = thread_context if limit < 0 else thread_context[-limit:] if limit else ()
    prior = [_prior(message, number) for number, message in enumerate(newest)]
    history = subject_context if tier == "deep_with_context" else None
    fence = boundary or _boundary(text, prior, history)
    parts = _thread(prior, fence)
    if history:
        known = json.dumps(history, sort_keys=True, default=str)
        parts += ["## What is known of its author", fenced(known, fence)]
    how = "thoroughly" if tier.startswith("deep") else "as it stands"
    parts += [f"## The message to score, {how}", _scanned(scan), fenced(text, fence)]
    return system_prompt(), "\n\n".join(parts)


def build_evaluation_prompt(
    text: str,
    scan_result: Scan | None = None,
    tier: str = "focused",
    thread_context: Sequence[Prior] | None = None,
    agent_context: Mapping[str, Any] | None = None,
) -> tuple[str, str]:
    """`evaluation_prompt` under another name, with the names of its arguments; without a scan it scans."""
    return evaluation_prompt(text, scan_result or scan_text(text), tier, thread_context or (), agent_context)


def _prior(message: Prior, number: int) -> PriorMessage:
    if isinstance(message, Mapping):
        who, text = author_and_text(message, f"thread_context {number}")
        return who, text or "", scan_text(text or "")
    return message if len(message) == 3 else (*message, scan_text(message[1]))


def _thread(prior: Sequence[PriorMessage], fence: str) -> list[str]:
    """The earlier messages under a heading, oldest first: where not all fit, the first and the newest."""
    if not prior:
        return []
    first = _fitting(prior[:FIRST_MESSAGES], MOST_FIRST, fence)
    room = MOST_THREAD - sum(map(len, first))
    rest = prior[len(first) :][-(MOST_MESSAGES - len(first)) :]
    newest = _fitting(rest[::-1], room, fence)[::-1]
    shown = first + newest
    left = len(prior) - len(shown)
    where = f"after the first {len(first)}" if first else "before them"
    heading = f"## The thread before it, {len(shown)} messages, oldest first"
    heading += f"; {left} {where} left out" if left else ""
    return [heading, *(f"{k}. {part}" for k, part in enumerate(shown, start=1))]


def _fitting(messages: Sequence[PriorMessage], room: int, fence: str) -> list[str]:
    """The first of these messages as the prompt shows them, as many as have room."""
    parts: list[str] = []
    for who, text, scan in messages:
        part = f"{shown_name(who, fence)}; {_scanned(scan)}\n{fenced(text, fence)}"
        room -= len(part)
        if room < 0:
            break
        parts.append(part)
    return parts


def _scanned(scan: Scan) -> str:
    """The scanner's result; its phrases are those of the lexicon, never words of the message."""
    if not scan.measured:
        return "The scanner does not know its language."
    phrases = [f"{flag.category} ({flag.trait}): {flag.phrase!r}" for flag in scan.flags if flag.counts]
    if len(phrases) > MOST_PHRASES:
        phrases = [*phrases[:MOST_PHRASES], f"and {len(phrases) - MOST_PHRASES} more"]
    return "The scanner found: " + ("; ".join(phrases) or "nothing") + "."


def _boundary(text: str, thread: Sequence[PriorMessage], history: Mapping[str, Any] | None) -> str:
    whole = json.dumps([text, [(who, message) for who, message, _ in thread], history], default=str)
    return hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:16]
