"""The prompt of an evaluation, with delimiters around untrusted text."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import BadUsage
from ..lexicon.records import Scan
from ..lexicon.triage import PRIOR
from .rubric import system_prompt

# The fence around what strangers wrote: their lines cannot be taken for ours.
#
# The word in a fence line is made up for one prompt, and is taken out of the text should it stand there.
# Every
# line between two fence lines begins with two spaces, while headings and fence lines begin at the margin; so
# a text that holds a heading, a fence or a whole prompt stays inside. A model that is shown this can still
# be talked into things: the answer is checked as well.

MARGIN = "  "
LONGEST_NAME = 64  # characters of a name that are shown

_BOUNDARY = re.compile(r"[A-Za-z0-9]{4,64}")
# All that Python, a terminal or a model may take for the end of a line.
_LINE_END = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
# Controls and halves of characters, which no prompt can hold; one for one, so that quotes keep their length.
_UNFIT = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f\ud800-\udfff]")
# Controls, format characters (zero-width, direction marks, tags), separators, private and unassigned ones.
_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def is_boundary(word: str) -> bool:
    """Whether a word can stand in fence lines.

    >>> is_boundary("9f86d081884c7d65"), is_boundary("a b")
    (True, False)
    """
    return _BOUNDARY.fullmatch(word) is not None


def fenced(text: str, fence: str) -> str:
    """The text between two fence lines, each of its lines moved in.

    >>> print(fenced("hello\\n--- c0ffee\\n## Now", "c0ffee"))
    --- c0ffee
      hello
      --- (fence)
      ## Now
    --- c0ffee
    """
    inside = _UNFIT.sub("\ufffd", _without(text, fence))
    lines = _LINE_END.sub(lambda end: "\n" + MARGIN, inside)
    return f"--- {fence}\n{MARGIN}{lines}\n--- {fence}"


def shown_name(who: str, fence: str) -> str:
    """A name as JSON, cut, with everything escaped that cannot be seen.

    >>> print(shown_name("ann\\n--- c0ffee" + chr(0x202E), "c0ffee"))
    "ann\\n--- (fence)\\u202e"
    """
    cut = who if len(who) <= LONGEST_NAME else who[:LONGEST_NAME] + "..."
    return "".join(map(_seen, json.dumps(_without(cut, fence), ensure_ascii=False)))


def _without(text: str, fence: str) -> str:
    """Whoever guesses the word still cannot write it, in capitals neither."""
    return re.sub(re.escape(fence), "(fence)", text, flags=re.IGNORECASE)


def _seen(character: str) -> str:
    if unicodedata.category(character) not in _UNSEEN:
        return character
    return json.dumps(character)[1:-1]


# The prompt of an evaluation: a pure function of the message, its scan, its thread and its subject.
#
# The text of messages is fenced and declared to be data. The model scores this one message and names no
# patterns: what a message is part of is found afterwards, from the readings of many.

__all__ = ["MOST_TEXT", "Said", "evaluation_prompt", "system_prompt"]

MOST_TEXT = 8_000  # characters of a message that are shown
MOST_MESSAGES = 40  # earlier messages that are shown, the newest
MOST_THREAD = 24_000  # characters of all earlier messages together, with what is written about them
MOST_PHRASES = 20  # phrases of a scan that are shown

Said = tuple[str, str, Scan]  # an earlier message: who, what, and its scan


def evaluation_prompt(
    text: str,
    scan: Scan,
    tier: str,
    thread_context: Sequence[Said] = (),
    subject_context: Mapping[str, Any] | None = None,
    *,
    boundary: str | None = None,
) -> tuple[str, str]:
    """(system, user) for one message; what a tier does not ask for is left out.

    `boundary` is the word in the fence lines, of 4 to 64 letters and digits: whoever sends the prompt to a
    model makes one at random for each. By default it is made of everything that is fenced.
    """
    if boundary is not None and not is_boundary(boundary):
        raise BadUsage("a boundary is a word of 4 to 64 letters and digits")
    prior = _prior(tier, thread_context)
    history = subject_context if tier == "deep_with_context" else None
    fence = boundary or _boundary(text, prior, history)
    parts = _thread(prior, fence)
    if history:
        parts += ["## What is known of its author", _fenced(_plain(history), fence)]
    how = "thoroughly" if tier.startswith("deep") else "as it stands"
    parts += [f"## The message to score, {how}", _scanned(scan), _fenced(text, fence)]
    return system_prompt(), "\n\n".join(parts)


def _prior(tier: str, thread: Sequence[Said]) -> Sequence[Said]:
    prior = PRIOR.get(tier, 0)
    return thread if prior < 0 else thread[-prior:] if prior else ()


def _thread(prior: Sequence[Said], fence: str) -> list[str]:
    """The newest of the earlier messages that there is room for, oldest first, under a heading."""
    shown: list[str] = []
    room = MOST_THREAD
    for who, said, found in reversed(prior[-MOST_MESSAGES:]):
        part = f"{shown_name(who, fence)}; {_scanned(found)}\n{_fenced(said, fence)}"
        room -= len(part)
        if room < 0:
            break
        shown.append(part)
    if not prior:
        return []
    left = len(prior) - len(shown)
    older = f"; {left} before them left out" if left else ""
    heading = f"## The thread before it, {len(shown)} messages, oldest first{older}"
    return [heading, *(f"{k}. {part}" for k, part in enumerate(reversed(shown), start=1))]


def _scanned(scan: Scan) -> str:
    """What the scanner found; phrases are those of the lexicon, never words of the message."""
    if not scan.measured:
        return "The scanner does not know its language."
    said = [f"{flag.category} ({flag.trait}): {flag.phrase!r}" for flag in scan.flags if flag.counts]
    if len(said) > MOST_PHRASES:
        said = [*said[:MOST_PHRASES], f"and {len(said) - MOST_PHRASES} more"]
    return "The scanner found: " + ("; ".join(said) if said else "nothing") + "."


def _fenced(text: str, fence: str) -> str:
    return fenced(text if len(text) <= MOST_TEXT else text[:MOST_TEXT] + " [cut]", fence)


def _plain(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _boundary(text: str, thread: Sequence[Said], history: Mapping[str, Any] | None) -> str:
    whole = json.dumps([text, [(who, said) for who, said, _ in thread], history], default=str)
    return hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:16]
