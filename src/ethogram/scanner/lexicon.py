"""The lexicon: all categories made into one matcher; read when first needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from ..errors import Fault
from ..records import TRAITS
from ..records.event import stable_hash
from .content import Category, read_categories
from .fold import fold
from .matching import Matcher, Way
from .records import HARD_CONSTRAINT
from .variants import Rest, Sequence, forms, heads, without_apostrophes

FORMS_CHECKED = 1000


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All categories, the version of what they say, and the matcher made from them."""

    categories: tuple[Category, ...]
    version: str
    matcher: Matcher
    entries: tuple[tuple[str, str, str | None], ...]
    """Trait, category and phrase, by the matcher's number; no phrase where a line has variants."""


@lru_cache(maxsize=1)
def load_lexicon() -> Lexicon:
    """The lexicon that comes with the package."""
    return make_lexicon(read_categories())


def make_lexicon(categories: tuple[Category, ...]) -> Lexicon:
    """A lexicon of these categories; a phrase with an apostrophe is found without it too."""
    entries: list[tuple[str, str, str | None]] = []
    begun: dict[bytes, list[Way]] = {}
    bare: list[tuple[str, Way]] = []
    for one in categories:
        for line in one.phrases:
            rests: dict[Sequence, Rest | None] = {(): None}
            for head, rest in heads(line):
                way = (len(entries), rests.setdefault(rest, Rest(rest)))
                begun.setdefault(head.encode(), []).append(way)
                if "'" in head:
                    bare.append((without_apostrophes(head), way))
            entries.append((one.trait, one.name, None if "(" in line else line))
    # What is written so comes before what is only found so: `its` before `it's`.
    for head, way in bare:
        ways = begun.setdefault(head.encode(), [])
        if way not in ways:
            ways.append(way)
    said = sorted((one.language, one.trait, one.name, *sorted(one.phrases)) for one in categories)
    matcher = Matcher(list(begun), list(begun.values()))
    return Lexicon(categories, stable_hash("lexicon", said)[:12], matcher, tuple(entries))


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
    for line in one.phrases:
        if line in known:
            yield f"the phrase {line!r} stands in the lexicon twice"
        known.add(line)
        # A few forms show how the whole line is written.
        for form in islice(forms(line), FORMS_CHECKED):
            if fold(form).text.decode().strip() != form:
                yield f"write {form!r} as it is matched: {fold(form).text.decode()!r}"
