"""Near duplicates: texts that are equal but for numbers, ids and addresses."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

LEAST_WORDS, LEAST_LETTERS = 6, 60  # shorter texts are equal by chance
MOST = 20_000  # characters that are compared

_ADDRESS = re.compile(r"(?:https?://|www\.)\S+|[@#]\w+")
_SIGNS = re.compile(r"[^\w\x00-\x7f]+")
# ASCII signs become blanks; bytes of other characters stay.
_BLANKS = bytes(code if code > 127 or chr(code).isalnum() else ord(" ") for code in range(256))


def fingerprints(texts: Iterable[str | None]) -> list[str | None]:
    """The fingerprint of each text; None where there is no text."""
    texts = list(texts)
    known = {text: None if text is None else fingerprint(text) for text in dict.fromkeys(texts)}
    return [known[text] for text in texts]


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
    if not text.isascii():
        text = _SIGNS.sub(" ", text)
    parts = text.encode("utf-8", "replace").translate(_BLANKS).split()
    # Numbers, ids, wallets and hashes differ each time.
    if text.isascii():
        words = list(filter(bytes.isalpha, parts))
    else:
        words = [part for part in parts if part.isalpha() or (not part.isascii() and part.decode().isalpha())]
    # Some scripts have no blanks: there a long word is many.
    if len(words) < LEAST_WORDS and len(b"".join(words).decode()) < LEAST_LETTERS:
        return None
    return hashlib.blake2b(b" ".join(words), digest_size=9).hexdigest()
