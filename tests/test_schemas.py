"""The schemas accept what we write and document, and refuse what is wrong."""

from __future__ import annotations

import copy
import json
import re
import shutil
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

import ethogram
from ethogram.app.analyze import analyze
from ethogram.cli.main import main
from ethogram.errors import Fault
from ethogram.fields import Count, Ratio, RecordStruct, one_of
from ethogram.models import Detection, Event, Evidence
from ethogram.models.mute import Mute, Muting
from ethogram.models.record import Record, decimals
from ethogram.patterns.library import SHIPPED
from ethogram.schemas import VERSION, object_schema, schema, schema_names, type_schema
from markdown_blocks import ROOT, blocks

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
MISSING = object()

PATTERN: dict[str, Any] = {
    "name": "love_bombing",
    "title": "Love bombing",
    "description": "Warm events, then pressure.",
    "shape": {"sequence": [{"warm": "compassion > 0.6", "at_least": 3}, {"press": "manipulation > 0.5"}]},
    "confidence": "press.manipulation",
    "severity": "high",
    "examples": {
        "fires": [{"story": "kind, then a demand", "compassion": [0.8, None], "at": 2}],
        "quiet": [{"story": "kind"}, {"story": "cold", "target": "bo", "tool": ["a", "b"]}],
    },
}
INSUFFICIENT = {
    "record": "insufficient", "pattern": "p", "source": "input", "subject": "ann",
    "history": {"subject": "ann"}, "have": 2, "need": 4, "reason": "too few events",
}  # fmt: skip


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(schema(name))


def is_valid(name: str, instance: object) -> bool:
    return validator(name).is_valid(instance)


def changed(base: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A copy with some fields set, or left out where MISSING."""
    merged = copy.deepcopy(base) | changes
    return {key: value for key, value in merged.items() if value is not MISSING}


def sample_detection(**changes: Any) -> dict[str, Any]:
    detection = Detection(
        id="d1", pattern="love_bombing", version="v", state="opened", subject="ann", target=None,
        thread=None, severity="high", confidence=0.5, opened_at=NOON, detected_at=NOON.replace(microsecond=5),
        closed_at=None, first_event="a", last_event="b", count=2,
        evidence=(Evidence("warm", "a", NOON, {"compassion": 0.9, "topic": "money"}),),
        details={"times": 3, "paths": ["x"]}, confirms=("MAN_LOVEBOMB",), scorer="given",
        explanation="", recommendation="", history={"subject": "ann"},
    )  # fmt: skip
    return changed(detection.to_dict(), **changes)


@pytest.mark.parametrize("name", schema_names())
def test_each_is_a_schema_and_carries_its_version(name):
    Draft202012Validator.check_schema(schema(name))
    assert schema(name)["$id"] == f"urn:ethogram:schema:{name}:{VERSION}"


def test_what_we_write_is_valid_and_fully_described():
    event = Event.sample(
        target="bo", text="\ud800", attributes={"tool": "ls"}, readings={"x": 1.0, "y": "z"},
        scorers={"x": "m"}, widths={"x": 3},
    )  # fmt: skip
    written = {"event": event.to_dict(), "detection": sample_detection(), "insufficient": INSUFFICIENT}
    written |= {"fault": Fault("a.yaml", 3, 0, "bad").to_dict()}
    for name, record in written.items():
        assert is_valid(name, record), name
        assert record.keys() <= schema(name)["properties"].keys(), name


@pytest.mark.parametrize(
    "event",
    [
        {"subject": "ann"},
        {"subject": "ann", "at": "2026-01-05 12:00+01:00", "seq": 0, "source": "s", "session": None},
        {"subject": "ann", "readings": {"a": 1, "b": "x", "c": True, "d": None, "e": {"value": 0.5}}},
        {"subject": "ann", "x_ours": [1], "id": 7, "kind": None, "readings": None},
    ],
)
def test_an_event_may_be(event):
    assert is_valid("event", event)


@pytest.mark.parametrize(
    "event",
    [
        {},
        [],
        {"subject": ""},
        {"subject": None},
        {"subject": " "},
        {"subject": "ann", "at": "2026-01-05T12:00:00"},
        {"subject": "ann", "at": "yesterday"},
        {"subject": "ann", "seq": -1},
        {"subject": "ann", "attributes": []},
        {"subject": "ann", "readings": {"a": [1]}},
        {"subject": "ann", "readings": {"a": {"scorer": "m"}}},
        {"subject": "ann", "readings": {"a": {"value": 1, "by": "m"}}},
        {"subject": "ann", "readings": {"a": {"value": 1, "width": "ten"}}},
    ],
)
def test_an_event_may_not_be(event):
    assert not is_valid("event", event)


@pytest.mark.parametrize(
    "changes",
    [
        {"record": "event"},
        {"id": MISSING},
        {"severity": "severe"},
        {"state": "open"},
        {"confidence": 1.2},
        {"count": 1.5},
        {"detected_at": "2026-01-05T12:00:00+00:00"},
        {"closed_at": MISSING},
        {"evidence": [{"step": "warm"}]},
        {"history": {"subject": None}},
    ],
)
def test_a_detection_may_not_be(changes):
    assert not is_valid("detection", sample_detection(**changes))


@pytest.mark.parametrize("field", list(INSUFFICIENT))
def test_an_insufficient_record_has_all_its_fields(field):
    assert not is_valid("insufficient", changed(INSUFFICIENT, **{field: MISSING}))


def test_a_fault_counts_lines_from_one():
    fault = Fault("a.yaml", 3, 7, "bad").to_dict()
    assert is_valid("fault", fault | {"line": None, "column": None})
    assert not is_valid("fault", fault | {"line": 0})
    assert not is_valid("fault", changed(fault, message=MISSING))


@pytest.mark.parametrize(
    "shape",
    [
        {"sequence": [{"a": "x > 1"}], "max_gap": 0, "within": "30d"},
        {"sequence": [{"a": "x", "times": 2, "within": "6 events"}, {"never": "y"}, {"b": "y"}],
         "max_gap": 2},
        {"sequence": [{"a": "x"}, {"o": "z", "optional": True}, {"b": "y", "within": ["2d", "6 events"]}]},
        {"threshold": {"when": "n >= threshold", "clears": "never", "and": "y > 1"}},
        {"trend": {"of": "risk", "last": 10, "rise": 0.3, "tau": 0.6, "at_least": 5}},
        {"trend": {"of": "risk", "last": ["7d", "20 events"], "fall": "drop", "tau": 0.6, "skip": 1}},
        {"contrast": {"of": "x", "where": "o == 0", "against": "o == 1", "difference": 0.3, "t": 2.5,
                      "at_least": 5, "within_each": "task", "last": 200}},
        {"silence": {"longer_than": "hours(48)", "after": "is_user == 1", "at_least": 10}},
        {"all_of": ["p", "q"], "within": "1h", "multiplier": 1.5, "overlapping": True},
        {"in_order": ["p.tokens", "q@2"], "within": "1h"},
        {"all_of": ["p", "q"], "overlapping": True},
        {"sequence": [{"a": "x", "times": "n", "optional": False}, {"b": "y"}], "max_gap": "n"},
        {"trend": {"of": "x", "rise": "least"}},
        {"any_of": ["p", "q"]},
        {"spread": {"from": "p", "to": "q", "within": "7d", "at_least": 2}},
    ],
    ids=lambda shape: next(iter(shape)),
)  # fmt: skip
def test_a_shape_may_be(shape):
    assert is_valid("pattern", changed(PATTERN, shape=shape))


@pytest.mark.parametrize(
    "shape",
    [
        {},
        "x > 1",
        {"sequence": []},
        {"sequence": [{"at_least": 3}]},
        {"sequence": [{"a": "x", "b": "y"}]},
        {"sequence": [{"a": "x", "times": 2, "at_least": 2}]},
        {"sequence": [{"a": "x", "optional": True, "within": "1d"}]},
        {"sequence": [{"never": "x", "within": "1d"}]},
        {"sequence": [{"a": "x"}], "within": "soon"},
        {"sequence": [{"a": "x"}], "max_gap": -1},
        {"sequence": [{"a": "x"}], "when": "x"},
        {"sequence": [{"a": "x"}], "threshold": {"when": "x"}},
        {"threshold": {"clears": "x"}},
        {"threshold": {"when": "x", "until": "y"}},
        {"trend": {"of": "x", "tau": 0.5, "last": 5}},
        {"trend": {"of": "x", "rise": "a + b"}},
        {"trend": {"of": "x", "tau": 0.5, "rise": 1, "fall": 1}},
        {"contrast": {"of": "x", "where": "o == 0", "difference": 0.3, "t": 2}},
        {"silence": {"after": "x"}},
        {"all_of": ["p"], "within": "1h"},
        {"all_of": ["p", "q"]},
        {"any_of": ["p", "q"], "within": "1h"},
        {"all_of": ["p", "q"], "within": "3 events"},
        {"in_order": ["p", "q"], "within": "1h", "overlapping": True},
        {"spread": {"from": "p", "within": "7d"}},
        {"wave": {"of": "x"}},
    ],
    ids=json.dumps,
)
def test_a_shape_may_not_be(shape):
    assert not is_valid("pattern", changed(PATTERN, shape=shape))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"severity": {"medium": "n >= 3", "high": "n >= 4"}},
        {"shape": {"any_of": ["p", "q"]}, "confidence": MISSING},
        {"tell_at": 1, "parameters": {"a": 1, "b": 0.5}, "define": {"n": "x + 1", "m": 2}},
        {"for_each": {"resource": ["memory_mb", "tokens"]}, "confirms": ["MAN_LOVEBOMB"]},
        {"id": "6b1c2f52-6e0a-4c8e-9a58-0f6d2a1c7e11", "status": "shadow", "date": "2026-01-05"},
    ],
    ids=lambda changes: ", ".join(changes) or "plain",
)
def test_a_pattern_may_be(changes):
    assert is_valid("pattern", changed(PATTERN, **changes))


@pytest.mark.parametrize(
    "changes",
    [
        *({key: MISSING} for key in ("name", "title", "description", "shape", "confidence", "severity")),
        {"examples": MISSING},
        {"level": "high"},
        {"severity": []},
        {"severity": {"grave": "x > 1"}},
        {"threshold": 3},
        {"name": "love bombing"},
        {"status": "draft"},
        {"confirms": ["lovebomb"]},
        {"group_by": []},
        {"parameters": {"a": "1"}},
        {"for_each": {"a": ["x"], "b": ["y"]}},
        {"confidence": [1]},
        {"tell_at": 1, "shape": {"threshold": {"when": "x > 1"}}},
        {"examples": {"fires": [{"story": "one"}], "quiet": [{"story": "only one"}]}},
    ],
    ids=lambda changes: ", ".join(changes),
)
def test_a_pattern_may_not_be(changes):
    assert not is_valid("pattern", changed(PATTERN, **changes))


@pytest.mark.parametrize("block", blocks("json"), ids=str)
def test_every_json_example_in_the_documentation_is_valid(block):
    record = json.loads(block.text)
    if isinstance(record, dict) and (name := record.get("record", "event")) in schema_names():
        assert is_valid(name, record)


@pytest.mark.parametrize("block", blocks("yaml"), ids=str)
def test_every_pattern_in_the_documentation_is_valid(block):
    content = YAML(typ="safe", pure=True).load(block.text)
    if isinstance(content, dict) and {"name", "shape"} <= content.keys():
        errors = [error.message for error in Draft202012Validator(schema("pattern")).iter_errors(content)]
        assert not errors


def test_every_field_of_a_record_is_explained_on_its_page():
    page = "\n".join(block.text for block in blocks("json") if block.page.name == "records.md")
    pages = (ROOT / "docs" / name for name in ("records.md", "record_fields.md"))
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    for name in set(schema_names()) - {"pattern", "event", "config"}:
        for field in schema(name)["properties"]:
            shown = re.search(rf'"{field}":', page) or f"| `{field}` |" in text
            assert shown, f"the documentation does not show {name}.{field}"


@pytest.mark.parametrize("path", sorted(SHIPPED.rglob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_pattern_is_valid(path):
    content = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    errors = [error.message for error in Draft202012Validator(schema("pattern")).iter_errors(content)]
    assert not errors


def test_what_is_said_of_an_analysis_and_of_mutes_is_valid():
    known = Mute("m-1", "a drill", subject="ann")
    analysis = analyze([{"subject": "ann", "readings": {"compasion": 0.5}}], ["love_bombing"])
    for item in (analysis, replace(analysis, muting=Muting((known,)))):
        assert is_valid("summary", item.summary())
    assert is_valid("mute", known.to_dict())
    assert not is_valid("summary", changed(analysis.summary(), events=-1))
    assert not is_valid("mute", changed(known.to_dict(), reason=MISSING))


# --- every record has a schema, and what commands print fits it ------------------------------


@cache
def schemas_of(record: str) -> list[str]:
    """The schemas of lines that say they are this record: `summary` has several."""
    bodies = {name: validator(name).schema["properties"] for name in schema_names()}
    return [name for name, body in bodies.items() if body.get("record") == {"const": record}]


def test_every_class_that_names_a_record_has_a_schema():
    source = Path(ethogram.__file__).parent
    texts = "\n".join(path.read_text(encoding="utf-8") for path in source.rglob("*.py"))
    named = set(re.findall(r'^    RECORD = "(\w+)"$', texts, re.MULTILINE))
    assert len(named) > 60
    assert [name for name in sorted(named) if not schemas_of(name)] == []


def test_no_command_builds_a_record_by_hand():
    source = Path(ethogram.__file__).parent
    by_hand = [
        f"{path.relative_to(source)}:{number}"
        for path in source.rglob("*.py")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if re.search(r'"record": "\w+"', line) and ">>>" not in line and not line.strip().startswith("{")
    ]
    assert by_hand == []


@pytest.mark.parametrize(
    "command",
    [
        "analyze .", "analyze . --patterns *", "assess run.jsonl", "chat risk.jsonl", "demo",
        "evaluate network.jsonl --evaluator local", "hook replay run.jsonl", "patterns list",
        "signals scan network.jsonl", "signals list", "why love_bombing dev conversation.jsonl",
    ],
)  # fmt: skip
def test_what_commands_print_is_valid(command, tmp_path, monkeypatch, capsys):
    examples = Path(ethogram.__file__).parent / "data" / "examples"
    monkeypatch.chdir(shutil.copytree(examples, tmp_path / "examples"))
    assert main([*command.split(), "--json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert records
    for record in records:
        record.pop("example", None)  # what `demo` adds
        names = schemas_of(record["record"])
        assert any(is_valid(name, record) for name in names), (names, record)
        assert any(record.keys() <= validator(name).schema["properties"].keys() for name in names)


# --- types -----------------------------------------------------------------------------------


class Inner(RecordStruct):
    """A part."""

    share: Ratio
    word: Annotated[str, one_of("a", "b")] | None


@dataclass(frozen=True, slots=True)
class Outer(Record):
    """A record.

    With a second paragraph.
    """

    RECORD = "outer"
    JSON = "name doubled inner note"
    FLAT = ("inner",)
    OMITTED = ("note",)
    DECIMALS = decimals(2, "doubled")

    name: str
    """What it is called."""
    value: float
    inner: Inner
    note: str | None = None

    @property
    def doubled(self) -> Ratio:
        """Twice the value."""
        return self.value * 2


def test_a_schema_follows_from_the_class():
    assert object_schema(Outer) == {
        "type": "object",
        "required": ["record", "name", "doubled", "share", "word"],
        "properties": {
            "record": {"const": "outer"},
            "name": {"type": "string", "description": "What it is called."},
            "doubled": {"type": "number", "minimum": 0, "maximum": 1, "description": "Twice the value."},
            "share": {"type": "number", "minimum": 0, "maximum": 1},
            "word": {"anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "null"}]},
            "note": {"type": "string"},
        },
    }


def test_the_output_follows_from_the_same_class():
    record = Outer("x", 1 / 7, Inner(share=0.5, word=None))
    assert record.to_dict() == {"record": "outer", "name": "x", "doubled": 0.29, "share": 0.5, "word": None}
    noted = Outer("x", 0.1, Inner(share=0.5, word="a"), note="n")
    assert list(noted.to_dict()) == ["record", "name", "doubled", "share", "word", "note"]


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (int | None, {"type": ["integer", "null"]}),
        (Ratio | None, {"type": ["number", "null"], "minimum": 0, "maximum": 1}),
        (float | str, {"type": ["number", "string"]}),
        (tuple[Count, ...], {"type": "array", "items": {"type": "integer", "minimum": 0}}),
        (
            tuple[int, str],
            {
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "string"}],
                "minItems": 2,
                "maxItems": 2,
            },
        ),
        (dict[str, Any], {"type": "object"}),
        (Literal[True], {"const": True}),
        (Literal["a", "b"] | None, {"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]}),
    ],
    ids=str,
)
def test_the_schema_of_a_type(hint, expected):
    assert type_schema(hint) == expected
