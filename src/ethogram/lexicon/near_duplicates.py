"""Near duplicates: texts that are equal but for numbers, ids and addresses."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable

LEAST_WORDS, LEAST_LETTERS = 6, 60  # shorter texts are equal by chance
MOST = 20_000  # characters that are compared
BEGIN, BEGIN_WORDS = 100, 10  # characters, and words among them, that tell most texts apart

_ADDRESS = re.compile(r"(?:https?://|www\.)\S+|[@#]\w+")
_SIGNS = re.compile(r"[^\w\x00-\x7f]+")
# ASCII signs become blanks; bytes of other characters stay.
_BLANKS = bytes(code if code > 127 or chr(code).isalnum() else ord(" ") for code in range(256))


def marks(texts: Iterable[str | None]) -> list[Hashable]:
    """What near duplicates among the texts share, as a fingerprint; None where there is none.

    Nearly all texts are told apart by how they begin, which is quicker to look at.

    >>> marks(["thanks a lot", None]), len(set(marks(["One two three. " * 9, "Four five six! " * 9])))
    ([None, None], 2)
    """
    texts = list(texts)
    begins = {text: _begin(text) for text in dict.fromkeys(texts) if text is not None}
    count = Counter(begins.values())
    known: dict[str | None, Hashable] = {None: None}
    for number, (text, begin) in enumerate(begins.items()):
        is_alone = count[begin] == 1 and len(begin) == BEGIN_WORDS
        known[text] = number if is_alone else fingerprint(text)
    return [known[text] for text in texts]


def _begin(text: str) -> tuple[bytes, ...]:
    """The first BEGIN_WORDS of the words of a text; fewer where it has no more."""
    size = BEGIN
    while (cut := text.find(" ", size, MOST)) >= 0:
        words = _words(text[:cut])
        if len(words) >= BEGIN_WORDS:
            return tuple(words[:BEGIN_WORDS])
        size *= 4
    return tuple(_words(text)[:BEGIN_WORDS])


def fingerprint(text: str) -> str | None:
    """A digest that near duplicates share; None for a text too short.

    >>> text = "Join our group today, code 1234 at https://a.example/x"
    >>> fingerprint(text) == fingerprint("join OUR group -- today! Code 99 at https://b.example")
    True
    >>> fingerprint("thanks a lot") is None
    True
    """
    words = _words(text)
    # Some scripts have no blanks: there a long word is many.
    if len(words) < LEAST_WORDS and len(b"".join(words).decode()) < LEAST_LETTERS:
        return None
    return hashlib.blake2b(b" ".join(words), digest_size=9).hexdigest()


def _words(text: str) -> list[bytes]:
    """The words that are compared."""
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
        return list(filter(bytes.isalpha, parts))
    return [part for part in parts if part.isalpha() or (not part.isascii() and part.decode().isalpha())]
