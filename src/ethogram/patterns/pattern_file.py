"""One pattern file: its patterns, its descriptions and its examples."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import BadPattern, Fault, did_you_mean
from ..language.ast import Pattern
from ..language.fields import FieldReader, renamed
from ..language.parser import parse_patterns
from ..language.shape_parser import COMBINATIONS
from ..language.vocabulary import Vocabulary
from ..language.yaml_source import Fields, Items, Node, Scalar, plain, read_yaml_file
from ..models import stable_hash
from ..models.constants import EVIDENCE
from ..models.slotted import dataclass, field, replace
from .examples import KEYS as EXAMPLE_KEYS
from .examples import Example, names_in, read_examples

REQUIRED = ("name", "title", "description", "shape", "examples")
TEXTS = ("description", "triage", "author", "date", "modified", "id", "evidence")
LISTS = ("false_positives", "misses", "references", "tags", "related")
MEANING = (
    "name", "title", "status", "cause", "confirms", "group_by", "parameters", "define", "for_each",
    "shape", "confidence", "severity", "details", "explanation", "recommendation", "tell_at",
)  # fmt: skip
KEYS = (*MEANING, *TEXTS, *LISTS, "examples")
EXPRESSIONS = ("group_by", "define", "for_each", "shape", "confidence", "severity", "details", "explanation")
PATTERN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,79}")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class PatternFile:
    """A checked pattern file."""

    path: str
    name: str
    title: str
    status: str
    words: Mapping[str, Any]
    patterns: tuple[Pattern, ...]
    parameters: Mapping[str, float]
    kinds: Mapping[str, str]
    examples: tuple[Example, ...]
    vocabulary: Vocabulary
    places: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Line and column of each part that a combination names."""
    data: Mapping[str, Any] = field(repr=False, default_factory=dict)
    in_code: bool = False
    """Whether it is a pattern in code, where a function matches and not the shape."""

    @property
    def shape_hash(self) -> str:
        """A hash of what it detects: the versions of its patterns."""
        return stable_hash("shape", [pattern.version for pattern in self.patterns])[:16]

    @property
    def file_hash(self) -> str:
        """A hash of the whole content, without comments and layout."""
        return stable_hash("file", dict(self.data))[:16]


def read_pattern_file(
    path: str | Path,
    vocabulary: Vocabulary,
    overlay: Mapping[str, float] | None = None,
    *,
    examples: bool = True,
) -> PatternFile:
    """Read a pattern file, without `examples` up to those; BadPattern carries every fault."""
    node = read_yaml_file(path, until=None if examples else "\nexamples:")
    return check_pattern(node, str(path), vocabulary, overlay, name=Path(path).stem, examples=examples)


def check_pattern(
    node: Node,
    path: str,
    vocabulary: Vocabulary,
    overlay: Mapping[str, float] | None = None,
    name: str | None = None,
    examples: bool = True,
) -> PatternFile:
    """Check the document of a pattern file. `name` is the file's, which the pattern must have too."""
    if not isinstance(node, Fields):
        message = "a pattern is a mapping: name: ..., shape: ..."
        raise BadPattern([Fault(path, node.line, node.column, message)])
    read = FieldReader(path)
    read.known_keys(node, KEYS, "a pattern")
    data = plain(node)
    for key in REQUIRED if examples else REQUIRED[:-1]:
        if data.get(key) in (None, "", [], {}):
            read.fault(node.get(key) or node, f"{key} is missing")
    _check_name(read, node, name)
    known = _with_examples(read, node, vocabulary)
    patterns = parse_patterns(read, node, known, overlay)
    stories = read_examples(read, node.get("examples"), known) if examples else ()
    words = {key: read.text(node.get(key), key) for key in TEXTS}
    lists = {key: list(read.texts(node.get(key), key)) for key in LISTS}
    if words["id"] and not _UUID.fullmatch(words["id"]):
        read.fault(node.get("id") or node, "id is a UUID in lower case")
    if words["evidence"] and words["evidence"] not in EVIDENCE:
        near = did_you_mean(words["evidence"], EVIDENCE)
        message = f"unknown evidence {words['evidence'][:40]!r}: expected {', '.join(EVIDENCE)}{near}"
        read.fault(node.get("evidence") or node, message)
    if read.faults:
        raise BadPattern(sorted(read.faults))
    first = patterns[0]
    return PatternFile(
        path=path,
        name=read.text(node.get("name"), "name"),
        title=first.title,
        status=first.status,
        words=words | lists,
        patterns=patterns,
        parameters={**(data.get("parameters") or {}), **(overlay or {})},
        kinds=dict(read.kinds),
        examples=stories,
        vocabulary=known,
        places=_part_places(node.get("shape")),
        data=data,
    )


def _check_name(read: FieldReader, node: Fields, expected: str | None) -> None:
    value = node.get("name")
    if value is None:
        return
    name = read.text(value, "name")
    if name and not PATTERN_NAME.fullmatch(name):
        read.fault(value, f"name {name[:80]!r} must be a plain word: letters, digits and _")
    elif expected is not None and name != expected:
        read.fault(value, f"name {name!r} differs from the file's name {expected!r}; rename one")


def _with_examples(read: FieldReader, node: Fields, vocabulary: Vocabulary) -> Vocabulary:
    """The vocabulary with the names that the examples declare; unknown names that are not used are faults."""
    names = names_in(node.get("examples"), vocabulary)
    used = {word for key in EXPRESSIONS for word in _words(node.get(key))}
    signals, attributes = dict(vocabulary.signals), dict(vocabulary.attributes)
    for group, into in ((names.readings, signals), (names.attributes, attributes)):
        for name, kind in group.items():
            known = name in vocabulary.signals or name in vocabulary.attributes
            if known or name.replace("-", "_") in vocabulary.indicators:
                continue
            # A combination's examples give the readings of its parts, which are in other files.
            if name not in used and not _is_combination(node.get("shape")):
                near = did_you_mean(
                    name, {*used & {*vocabulary.signals, *names.readings}, *vocabulary.signals}
                )
                unknown = f"unknown key {name!r} in an example{near or '; the pattern does not use it'}"
                read.fault(names.places[name], renamed(name, EXAMPLE_KEYS) or unknown)
            else:
                into[name] = kind
                if kind == "any":
                    message = f"{name!r} is a number in one example and a category in another"
                    read.fault(names.places[name], message)
    return replace(vocabulary, signals=signals, attributes=attributes)


def _part_places(shape: Node | None) -> dict[str, tuple[int, int]]:
    """Line and column of each part that a combination or spread names."""
    places: dict[str, tuple[int, int]] = {}
    for _, body in shape.entries if isinstance(shape, Fields) else ():
        named = body.items if isinstance(body, Items) else ()
        if isinstance(body, Fields):
            named = tuple(item for item in (body.get("from"), body.get("to")) if item is not None)
        places |= {item.text: (item.line, item.column) for item in named if isinstance(item, Scalar)}
    return places


def _is_combination(shape: Node | None) -> bool:
    return isinstance(shape, Fields) and any(shape.get(kind) for kind in (*COMBINATIONS, "spread"))


def _words(node: Node | None) -> set[str]:
    if node is None:
        return set()
    if isinstance(node, Scalar):
        return set(_WORD.findall(node.text[:20_000]))
    if isinstance(node, Fields):
        return {word for key, value in node.entries for word in (*_WORD.findall(key.text), *_words(value))}
    return {word for item in node.items for word in _words(item)}
