"""Near duplicates: texts that are equal but for numbers, ids and addresses."""

from __future__ import annotations

import hashlib
import re
import unicodedata

LEAST_WORDS, LEAST_LETTERS = 6, 60  # shorter texts are equal by chance
MOST = 20_000  # characters that are compared

_ADDRESS = re.compile(r"(?:https?://|www\.)\S+|[@#]\w+")
_WORD = re.compile(r"[^\W_]+")


def fingerprint(text: str) -> str | None:
    """A digest that near duplicates share; None for a text too short.

    >>> text = "Join our group today, code 1234 at https://a.example/x"
    >>> fingerprint(text) == fingerprint("join OUR group -- today! Code 99 at https://b.example")
    True
    >>> fingerprint("thanks a lot") is None
    True
    """
    text = text[:MOST].casefold()
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    if "@" in text or "#" in text or "www." in text or "://" in text:
        text = _ADDRESS.sub(" ", text)
    # Numbers, ids, wallets and hashes differ each time.
    words = [word for word in _WORD.findall(text) if word.isalpha()]
    # Some scripts have no blanks: there a long word is many.
    if len(words) < LEAST_WORDS and sum(map(len, words)) < LEAST_LETTERS:
        return None
    return hashlib.blake2b(" ".join(words).encode("utf-8", "replace"), digest_size=9).hexdigest()
