"""The lexicon: categories and their phrases, compiled into one matcher.

The files are YAML of one plain form: the small reader here takes milliseconds, a YAML library a second.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..data import DATA
from ..errors import BadInput, Fault
from ..models.event import stable_hash
from ..models.slotted import dataclass
from .matcher import Matcher, PhraseParts, Rest, Way, heads, parse, without_apostrophes

CONTENT = DATA / "lexicon"


@dataclass(frozen=True, slots=True)
class Category:
    """Phrases that hint at one kind of conduct.

    `hits_per_10000` and `precision` were measured on messages of a network of agents: how often a phrase
    occurs in 10,000 of them, and how many of so many sampled hits have the meaning of the category.
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
    """The categories of all files, in order."""
    categories: list[Category] = []
    for path in sorted(CONTENT.glob("*.yaml")):
        content = read_plain(path.read_text("utf-8"), path.name)
        for name, fields in content["categories"].items():
            right, _, sampled = fields["precision"].partition(" of ")
            categories.append(
                Category(
                    name=name,
                    trait=content["trait"],
                    language=content["language"],
                    about=fields["about"],
                    indicator=fields.get("indicator"),
                    hits_per_10000=float(fields["hits_per_10000"]),
                    precision=(int(right), int(sampled)),
                    phrases=tuple(fields["phrases"]),
                )
            )
    return tuple(categories)


def read_plain(text: str, name: str = "lexicon") -> dict[str, Any]:
    """Nested mappings, and lists with one line an item, by indentation; nothing else of YAML.

    >>> read_plain("trait: virtue\\ncategories:\\n  candour:\\n    phrases:\\n      - i was wrong\\n")
    {'trait': 'virtue', 'categories': {'candour': {'phrases': ['i was wrong']}}}
    """
    root: dict[str, Any] = {}
    above: list[tuple[int, Any]] = [(-1, root)]
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        indent = len(line) - len(line.lstrip(" "))
        while above[-1][0] >= indent:
            above.pop()
        into = above[-1][1]
        key, colon, value = stripped.partition(":")
        if stripped.startswith("- ") and isinstance(into, list):
            into.append(_unquoted(stripped[2:]))
        elif colon and isinstance(into, dict):
            into[key] = _unquoted(value) if value else [] if key == "phrases" else {}
            above.append((indent, into[key]))
        else:
            raise BadInput(
                [Fault(name, number, indent + 1, "invalid line: expected `key: value`, `key:` or `- phrase`")]
            )
    return root


def _unquoted(value: str) -> str:
    value = value.strip()
    return value[1:-1].replace("''", "'") if value.startswith("'") else value


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All categories, the version of their content, and the matcher of their phrases."""

    categories: tuple[Category, ...]
    version: str
    matcher: Matcher
    entries: tuple[tuple[str, str, str | None], ...]  # trait, category, and phrase if without variants


@lru_cache(maxsize=1)
def load_lexicon() -> Lexicon:
    """The lexicon of the package."""
    return make_lexicon(read_categories())


def make_lexicon(categories: tuple[Category, ...]) -> Lexicon:
    """A lexicon of these categories; phrases with an apostrophe match without it too."""
    entries: list[tuple[str, str, str | None]] = []
    begun: dict[bytes, list[Way]] = {}
    bare: list[tuple[str, Way]] = []
    for category in categories:
        for line in category.phrases:
            rests: dict[PhraseParts, Rest | None] = {(): None}
            for head, rest in heads(parse(line)):
                way = (len(entries), rests.setdefault(rest, Rest(rest)))
                begun.setdefault(head.encode(), []).append(way)
                if "'" in head:
                    bare.append((without_apostrophes(head), way))
            entries.append((category.trait, category.name, None if "(" in line or " ... " in line else line))
    # Exact spellings come first: `its` before `it's`.
    for head, way in bare:
        ways = begun.setdefault(head.encode(), [])
        if way not in ways:
            ways.append(way)
    content = sorted((item.language, item.trait, item.name, *sorted(item.phrases)) for item in categories)
    matcher = Matcher(list(begun), list(begun.values()), [entry[:2] for entry in entries])
    return Lexicon(categories, stable_hash("lexicon", content)[:12], matcher, tuple(entries))
