"""The YAML reader: libyaml for speed gives the same nodes and the same faults as a YAML 1.2 parser."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import yaml
from ruamel.yaml import YAML, YAMLError

from ethogram.errors import BadInput, BadPattern
from ethogram.language import yaml_source as reader
from ethogram.language.yaml_source import Fields, Items, Node, Scalar, plain, read_yaml

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(path for folder in ("src", "examples", "tests") for path in (ROOT / folder).rglob("*.yaml"))


def outcome(text: str, *, fast: bool) -> Any:
    """Every value with its place, or the place of every fault; None where libyaml may not or cannot read."""
    if fast and reader._UNUSUAL.search(text):
        return None
    events = yaml.parse(text, Loader=yaml.CSafeLoader) if fast else YAML(typ="safe", pure=True).parse(text)
    try:
        return flat(reader._build(events, text, "f", BadPattern))
    except BadInput as error:
        return "refused", [(fault.line, fault.column) for fault in error.faults]
    except (yaml.YAMLError, UnicodeEncodeError):
        return None
    except YAMLError:
        return "refused", []


def flat(node: Node) -> object:
    if isinstance(node, Scalar):
        # Without text there is nothing to point at: libyaml says the colon, the other one the next token.
        place = (node.line, node.column, node.place(len(node.text) // 2)) if node.text else ()
        return (node.text, node.value, bool(node.style), place)
    if isinstance(node, Items):
        return [(node.line, node.column), *map(flat, node.items)]
    return [(node.line, node.column), *((flat(key), flat(value)) for key, value in node.entries)]


def test_both_parsers_read_every_file_of_the_repository_alike():
    assert len(FILES) > 90
    for path in FILES:
        text = path.read_text("utf-8-sig")
        fast = outcome(text, fast=True)
        assert fast is not None, path
        assert fast == outcome(text, fast=False), path


def test_both_parsers_agree_on_altered_files():
    rng = random.Random(11)
    pieces = [*"{}[]:,-?|>'\"#!%@ \t\n\r", "- ", ": ", "\u2028", "\x85", "\ufeff", "é", "😀", "\x00"]
    compared = 0
    for _ in range(900):
        text = rng.choice(FILES).read_text("utf-8-sig")
        start = rng.randrange(len(text))
        start = text.rfind("\n", 0, start) + 1
        text = text[start : start + 400]
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(text))
            text = text[:at] + rng.choice(pieces) + text[at + rng.randrange(2) :]
        fast = outcome(text, fast=True)
        if fast is not None:
            compared += 1
            slow = outcome(text, fast=False)
            # A tag that is refused may also be no tag at all.
            assert fast == slow or (slow == ("refused", []) and fast[0] == "refused"), text
    assert compared > 100


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a: [1, 2", "f:1:9: is not YAML"),
        ("a: 1\n b: 2\n", "f:2:3: is not YAML"),
        ("a: 'b\n", "f:2:1: is not YAML"),
        ("a: \x00", "f:1:4: is not YAML"),
        ("a: 1\nb: \ud800", "f:2:4: is not YAML"),
        ("a: &x 1\n", "f:1:4: anchors and aliases are not allowed"),
        ("a: 1\nb: *x\n", "f:2:4: anchors and aliases are not allowed"),
        ("a: !!int 1\n", "f:1:4: tag"),
        ("a: 1\na: 2\n", "f:2:1: key 'a' stands twice"),
        ("a: 1\n---\nb: 2\n", "f:3:1: a second document begins here"),
        ("[" * 25, "f:1:25: is nested deeper than 24 levels"),
    ],
)
def test_faults_name_line_and_column(text, fault):
    with pytest.raises(BadPattern) as error:
        read_yaml(text, "f")
    assert str(error.value.faults[0]).startswith(fault)


def test_words_are_resolved_as_in_yaml_1_2():
    text = "{a: no, b: on, c: 0o7, d: 1_000, e: 12:30, f: .inf, g: Null, h: 1e400}"
    said = {
        "a": "no",
        "b": "on",
        "c": "0o7",
        "d": "1_000",
        "e": "12:30",
        "f": ".inf",
        "g": None,
        "h": "1e400",
    }
    assert plain(read_yaml(text, "f")) == said


def test_an_empty_value_is_placed_after_its_key():
    node = read_yaml("a:  # nothing yet\n\nb: 1\n", "f")
    assert isinstance(node, Fields)
    empty = node.get("a")
    assert empty is not None
    assert (empty.line, empty.column) == (1, 3)


def test_without_libyaml_the_other_parser_reads(monkeypatch):
    monkeypatch.setattr(yaml, "__with_libyaml__", False)
    assert plain(read_yaml("a: [1, x]", "f")) == {"a": [1, "x"]}
