"""The lexicon: categories and their phrases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..data import DATA
from ..errors import BadInput, Fault
from ..models.event import stable_hash
from .matcher import Matcher, PhraseParts, Rest, Way, heads, without_apostrophes

# The files of the lexicon, and what a category in them says.
#
# They are YAML, but of one plain form, so that a reader of a few lines does. Reading 1,500 lines with a
# whole YAML library takes a second, this takes milliseconds.

CONTENT = DATA / "lexicon"


@dataclass(frozen=True, slots=True)
class Category:
    """Phrases that hint at one kind of conduct, and how well they do.

    `hits_per_10000` and `precision` were measured: how often one of the phrases stands in 10,000 messages of
    a network of agents, and how many of so many sampled hits used it in the meaning of the category.
    """

    name: str
    trait: str
    language: str
    about: str
    indicator: str | None
    hits_per_10000: float
    precision: tuple[int, int]
    phrases: tuple[str, ...]


@lru_cache(maxsize=1)
def read_categories() -> tuple[Category, ...]:
    """The categories of all files, by file and in their order."""
    paths = sorted(CONTENT.glob("*.yaml"))
    return tuple(
        category for path in paths for category in _categories(read_plain(path.read_text("utf-8"), path.name))
    )


def read_plain(text: str, name: str = "lexicon") -> dict[str, Any]:
    """Mappings of mappings and lists of one line each, by indentation; nothing else of YAML.

    >>> read_plain("trait: virtue\\ncategories:\\n  candour:\\n    phrases:\\n      - i was wrong\\n")
    {'trait': 'virtue', 'categories': {'candour': {'phrases': ['i was wrong']}}}
    """
    root: dict[str, Any] = {}
    above: list[tuple[int, Any]] = [(-1, root)]
    for number, line in enumerate(text.splitlines(), start=1):
        said = line.strip()
        if not said or said.startswith("#"):
            continue
        indent = len(line) - len(line.lstrip(" "))
        while above[-1][0] >= indent:
            above.pop()
        into = above[-1][1]
        key, colon, value = said.partition(":")
        if said.startswith("- ") and isinstance(into, list):
            into.append(_unquoted(said[2:]))
        elif colon and isinstance(into, dict):
            into[key] = _unquoted(value) if value else [] if key == "phrases" else {}
            above.append((indent, into[key]))
        else:
            raise BadInput([Fault(name, number, indent + 1, "write `key: value`, `key:` or `- phrase` here")])
    return root


def _unquoted(value: str) -> str:
    value = value.strip()
    return value[1:-1].replace("''", "'") if value.startswith("'") else value


def _categories(content: dict[str, Any]) -> Iterator[Category]:
    for name, said in content["categories"].items():
        right, _, sampled = said["precision"].partition(" of ")
        yield Category(
            name,
            content["trait"],
            content["language"],
            said["about"],
            said.get("indicator"),
            float(said["hits_per_10000"]),
            (int(right), int(sampled)),
            tuple(said["phrases"]),
        )


# The lexicon: all categories made into one matcher; read when first needed.


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
    for category in categories:
        for line in category.phrases:
            rests: dict[PhraseParts, Rest | None] = {(): None}
            for head, rest in heads(line):
                way = (len(entries), rests.setdefault(rest, Rest(rest)))
                begun.setdefault(head.encode(), []).append(way)
                if "'" in head:
                    bare.append((without_apostrophes(head), way))
            entries.append((category.trait, category.name, None if "(" in line else line))
    # What is written so comes before what is only found so: `its` before `it's`.
    for head, way in bare:
        ways = begun.setdefault(head.encode(), [])
        if way not in ways:
            ways.append(way)
    said = sorted(
        (category.language, category.trait, category.name, *sorted(category.phrases))
        for category in categories
    )
    matcher = Matcher(list(begun), list(begun.values()))
    return Lexicon(categories, stable_hash("lexicon", said)[:12], matcher, tuple(entries))
