"""The lexicon: all categories made into one matcher; read when first needed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from ..errors import Fault
from ..records import TRAITS
from ..records.event import stable_hash
from .content import Category, read_categories
from .fold import fold
from .matching import Matcher
from .records import HARD_CONSTRAINT

# Without it these are other words: well, were, hell, shell, ill, id, wed, shed.
_KEEPS_APOSTROPHE = re.compile(rb"\b(?:we|he|she|i)'(?:ll|re|d)\b")


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All categories, the version of what they say, and the matcher made from them."""

    categories: tuple[Category, ...]
    version: str
    matcher: Matcher
    entries: tuple[tuple[str, str, str], ...]
    """Trait, category and phrase, by the matcher's number."""


@lru_cache(maxsize=1)
def load_lexicon() -> Lexicon:
    """The lexicon that comes with the package."""
    return make_lexicon(read_categories())


def make_lexicon(categories: tuple[Category, ...]) -> Lexicon:
    """A lexicon of these categories; a phrase with an apostrophe is found without it too."""
    forms: dict[bytes, tuple[str, str, str]] = {}
    for without in (False, True):
        for one in categories:
            for phrase in one.phrases:
                form = fold(phrase).text
                if without and not _KEEPS_APOSTROPHE.search(form):
                    form = form.replace(b"'", b"")
                forms.setdefault(form, (one.trait, one.name, phrase))
    said = sorted((one.language, one.trait, one.name, *sorted(one.phrases)) for one in categories)
    return Lexicon(categories, stable_hash("lexicon", said)[:12], Matcher(list(forms)), tuple(forms.values()))


def faults_of(categories: Iterable[Category]) -> list[Fault]:
    """Everything that is wrong with these categories. Not asked at every start: the lexicon is ours."""
    before: list[Category] = []
    faults: list[Fault] = []
    for category in categories:
        faults += [Fault(category.name, 0, 0, why) for why in _wrong(category, before)]
        before.append(category)
    return faults


def _wrong(one: Category, before: list[Category]) -> Iterator[str]:
    if one.trait not in TRAITS and one.trait != HARD_CONSTRAINT:
        yield f"{one.trait!r} is no trait"
    if any(one.name == other.name for other in before):
        yield "there are two of this name"
    known = {phrase for other in before for phrase in other.phrases}
    for phrase in one.phrases:
        if phrase in known:
            yield f"the phrase {phrase!r} stands in the lexicon twice"
        if fold(phrase).text.decode() != phrase:
            yield f"write {phrase!r} as it is matched: {fold(phrase).text.decode()!r}"
        known.add(phrase)
