"""The fence around what strangers wrote: their lines cannot be taken for ours.

The word in a fence line is made up for one prompt, and is taken out of the text should it stand there. Every
line between two fence lines begins with two spaces, while headings and fence lines begin at the margin; so
a text that holds a heading, a fence or a whole prompt stays inside. A model that is shown this can still
be talked into things: the answer is checked as well.
"""

from __future__ import annotations

import json
import re
import unicodedata

MARGIN = "  "
LONGEST_NAME = 64
"""Characters of a name that are shown."""

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
