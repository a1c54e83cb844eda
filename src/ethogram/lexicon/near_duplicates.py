"""Copies: the same text again, but for what a template or a bot puts in anew each time."""

from __future__ import annotations

import hashlib
import re
import unicodedata

LEAST_WORDS = 6  # shorter texts are alike by chance: thanks, I agree, good morning

LEAST_LETTERS = 60

MOST = 20_000  # characters that are looked at; two texts that differ only after these are taken for copies

_ADDRESS = re.compile(r"(?:https?://|www\.)\S+|[@#]\w+")
_WORD = re.compile(r"[^\W_]+")


def fingerprint(text: str) -> str | None:
    """A short digest that copies of a text share; None for a text too short to be told apart.

    >>> one = "Join our group today, code 1234 at https://a.example/x"
    >>> fingerprint(one) == fingerprint("join OUR group -- today! Code 99 at https://b.example")
    True
    >>> fingerprint("thanks a lot") is None
    True
    """
    text = text[:MOST].casefold()
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    if "@" in text or "#" in text or "www." in text or "://" in text:
        text = _ADDRESS.sub(" ", text)
    # Numbers, ids, wallets and hashes are what is new each time.
    words = [word for word in _WORD.findall(text) if word.isalpha()]
    # Some scripts write no blanks: there a long word is many.
    if len(words) < LEAST_WORDS and sum(map(len, words)) < LEAST_LETTERS:
        return None
    return hashlib.blake2b(" ".join(words).encode("utf-8", "replace"), digest_size=9).hexdigest()
