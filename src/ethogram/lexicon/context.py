"""Context of a match: negated, quoted, or mentioned instead of used."""

from __future__ import annotations

import re
from bisect import bisect_right

WINDOW = 4  # words that a negation reaches ahead
LOOK_BACK = 64  # characters before a match that matter

_DENIALS = frozenset(
    b"""not no never none nobody nothing neither nor without cannot don't doesn't didn't isn't aren't wasn't
    weren't won't can't couldn't shouldn't wouldn't mustn't needn't haven't hasn't hadn't ain't dont
    doesnt didnt isnt arent wasnt werent wont cant couldnt shouldnt wouldnt non avoid avoiding stop stopped
    refuse refused refusing instead rather hardly rarely""".split()
)
# "Do not hesitate to act now" asks for it.
_UNDENIED = frozenset(b"hesitate wait forget delay only just fail miss doubt merely".split())
_CLAUSE_END = re.compile(rb"[.,;:!?()\[\]|\"]|\b(?:but|so|because|then|and)\b")
_MENTIONS = frozenset(
    name + end
    for name in b"""phrase word term expression slogan keyword label category wording catchphrase
    mantra""".split()
    for end in (b"", b"s")
)
_MENTION = re.compile(
    rb"\b(?:" + b"|".join(sorted(_MENTIONS, reverse=True)) + rb")"
    rb"(?: (?:like|such as|is|are|was|were|of|called|for|including))?[ :,'\"`(]*$"
)
_NO_MARKS = bytes.maketrans(b'.,;:!?()[]|"`', b" " * 13)
# Each pattern with a text that it contains, which is searched first. No pattern reads more than a few hundred
# characters from one start, so that the whole is linear. Single marks open before a word and close after one;
# inside a word they are apostrophes.
_QUOTES = (
    ("```", re.compile(r"```.*?(?:```|\Z)", re.DOTALL)),
    (">", re.compile(r"^[ \t]{0,3}>.*$", re.MULTILINE)),
    ("`", re.compile(r"`[^`\n]{1,400}`")),
    ('"', re.compile(r'"[^"\n]{1,400}"')),
    ("“", re.compile(r"“[^“”\n]{1,400}”")),
    ("«", re.compile(r"«[^«»\n]{1,400}»")),
    ("„", re.compile(r"„[^„“”\n]{1,400}[“”]")),
    ("「", re.compile(r"「[^「」\n]{1,400}」")),
    ("'", re.compile(r"'(?<![\w'’]')(?=\w)(?:[^'\n]|(?<=\w)'(?=\w)){1,400}'(?!\w)")),
    ("‘", re.compile(r"‘(?=\w)(?:[^‘’\n]|(?<=\w)’(?=\w)){1,400}’(?!\w)")),
    ("://", re.compile(r"[a-z]{2,8}://\S+", re.IGNORECASE)),
    ("www.", re.compile(r"www\.\S+")),
)


def is_denied_or_mentioned(text: bytes, start: int) -> tuple[bool, bool]:
    """Whether a match at this offset of the folded text is negated, and whether it is only mentioned.

    >>> is_denied_or_mentioned(b"there is no need to act now", 20)
    (True, False)
    >>> is_denied_or_mentioned(b"the phrase act now", 11), is_denied_or_mentioned(b"never mind, act now", 12)
    ((False, True), (False, False))
    """
    before = text[max(0, start - LOOK_BACK) : start]
    # A quick check: mostly none of the words that matter is near.
    near = before.translate(_NO_MARKS).split()[-WINDOW - 2 :]
    return (
        not _DENIALS.isdisjoint(near) and _is_negated(before),
        not _MENTIONS.isdisjoint(near) and _MENTION.search(before) is not None,
    )


def _is_negated(before: bytes) -> bool:
    """Whether a negation precedes in the same clause, at most WINDOW words before."""
    ends = [match.end() for match in _CLAUSE_END.finditer(before)]
    words = before[ends[-1] if ends else 0 :].split()[-WINDOW:]
    denials = [number for number, word in enumerate(words) if word in _DENIALS]
    return bool(denials) and _UNDENIED.isdisjoint(words[denials[-1] + 1 :])


class Quotes:
    """Spans of quotations, code and addresses in a text."""

    __slots__ = ("_ends", "_starts")

    def __init__(self, original: str) -> None:
        matches = (match for sign, form in _QUOTES if sign in original for match in form.finditer(original))
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(match.span() for match in matches):
            if self._ends and start < self._ends[-1]:
                self._ends[-1] = max(end, self._ends[-1])
            else:
                self._starts.append(start)
                self._ends.append(end)

    def hold(self, start: int, end: int) -> bool:
        """Whether a slice of the text is inside one of them."""
        index = bisect_right(self._starts, start)
        return index > 0 and end <= self._ends[index - 1]
