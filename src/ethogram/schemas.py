"""JSON Schemas (draft 2020-12) of input and output, derived from the record types.

Annotations give types and limits (`ethogram.fields`), the text below a field (of a property: its docstring)
its description, the first line of the class's docstring the summary. Within a major version fields are only
added (docs/records.md).
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import types
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from . import fields
from .models.record import json_fields

Schema = dict[str, Any]

VERSION = "1.0"
"""Version of the schemas. The first number changes when a field goes or changes its meaning."""
DRAFT = "https://json-schema.org/draft/2020-12/schema"

RECORDS: dict[str, str] = {
    "event": "ingest.event_parser:EventLine",
    "detection": "models.detection:Detection",
    "pattern": "patterns.pattern_schema:pattern_body",
    "config": "schemas:settings_schema",
    "run": "app.run_record:Run",
    "insufficient": "app.result:InsufficientRecord",
    "fault": "errors:Fault",
    "summary": "app.result:Summary",
    "mute": "models.mute:ListedMute",
    "scan": "lexicon.records:Scan",
    "thread_scan": "lexicon.thread_scan:ThreadScan",
    "route": "app.evaluation.triage:RouteRecord",
    "scan_summary": "app.evaluation.triage:Scanned",
    "prompt": "patterns.listing:Prompt",
    "evaluation": "app.evaluation.records:EvaluationRecord",
    "not_measured": "app.evaluation.records:NotMeasuredRecord",
    "evaluate_summary": "app.evaluation.records:EvaluateSummary",
    "evaluator": "patterns.listing:EvaluatorRow",
    "sample": "patterns.listing:SampleRow",
    "evaluators_compared": "app.evaluation.agreement:EvaluatorsCompared",
    "hook_status": "agents.hook.status:HookStatus",
    "hook_said": "agents.hook.status:HookSaid",
    "hook_replayed": "agents.hook.replay:Replayed",
    "hook_replay": "agents.hook.replay:ReplaySummary",
    "hook_report": "agents.hook.status:HookReport",
    "usage_cohort": "usage.records:UsageCohort",
    "usage_signals": "usage.records:UsageSignalsRecord",
    "usage_news": "usage.records:UsageNews",
    "usage_sweep": "usage.records:UsageSweep",
    "usage_recorded": "usage.records:UsageRecorded",
    "usage_store": "usage.records:UsageStoreRecord",
    "usage_key": "usage.records:UsageKey",
    "usage_look": "usage.records:UsageLook",
    "usage_purge": "usage.records:UsagePurge",
    "usage_person": "usage.records:UsagePerson",
    "usage_event": "usage.records:UsageEventRecord",
    "usage_day": "usage.records:UsageDay",
    "usage_half_hour": "usage.records:UsageHalfHour",
    "usage_told": "usage.records:UsageReported",
    "conversation_state": "app.chat.scores:Turn",
    "chat_summary": "app.chat.scores:ChatSummary",
    "chat_turn": "service.chat_states:ChatTurn",
    "kept_state": "store.records:SavedState",
    "label": "app.judging.labels:LabelLine",
    "labelled": "app.judging.validate:LabelledRecord",
    "labelled_compared": "app.judging.validate:LabelledCompared",
    "labelled_summary": "app.judging.validate:LabelledSummary",
    "backtest": "risk.backtest:Backtest",
    "backtest_against": "app.backtest:BacktestComparison",
    "backtest_summary": "app.backtest:BacktestSummary",
    "risk": "app.judging.risk:RiskRecord",
    "assessment": "risk.assessment:Assessment",
    "verdict": "models.verdict:Verdict",
    "verdicts_added": "app.judging.verdicts:SavedVerdicts",
    "accuracy": "risk.accuracy:Accuracy",
    "agreement": "app.judging.accuracy:AgreementRecord",
    "calibration": "risk.calibration:Reliability",
    "proposal": "app.judging.learning:ProposalRecord",
    "no_proposal": "app.judging.learning:NoProposalRecord",
    "learned": "risk.changes:Change",
    "subject": "app.subject:SubjectContext",
    "subject_row": "app.subject:SubjectRowRecord",
    "sweep": "app.sweep:SweepRecord",
    "import": "app.importing:Imported",
    "store": "store.records:Info",
    "purge": "store.records:Purged",
    "copy": "app.moving:Copied",
    "history": "app.questions:HistorySummary",
    "tie": "app.questions:Tie",
    "alike": "app.questions:Alike",
    "early_sign": "app.questions:EarlySign",
    "group": "app.questions:ActingGroup",
    "graph": "app.graph:GraphReady",
    "why": "app.explain:Why",
    "progress": "app.subject:Progress",
    "pattern_row": "patterns.listing:PatternRow",
    "pattern_detail": "patterns.listing:PatternDetail",
    "written": "patterns.listing:PatternWritten",
    "warning": "patterns.listing:LintWarning",
    "lint_summary": "patterns.listing:LintSummary",
    "example": "app.pattern_tests:ExampleResult",
    "example_summary": "app.pattern_tests:ExampleSummary",
    "lock": "patterns.listing:Lock",
    "pack": "patterns.packs:Pack",
    "pack_removed": "patterns.listing:PackRemoved",
    "exported": "integrations.exporters.base:Exported",
    "signal": "patterns.listing:SignalRow",
    "indicator": "patterns.listing:IndicatorRow",
    "attribute": "patterns.listing:AttributeRow",
    "table": "patterns.listing:TableRow",
    "category": "patterns.listing:CategoryRow",
    "file": "patterns.listing:FileWritten",
    "setting": "patterns.listing:SettingRow",
    "refused": "config.layers:Refused",
    "config_path": "patterns.listing:ConfigPath",
    "trust": "patterns.listing:TrustRow",
    "doctor_check": "app.doctor:DoctorCheck",
    "ingested": "app.live.receiver:Ingested",
    "api_key": "service.keys:ApiKey",
    "audit_line": "service.audit:AuditLine",
    "inbox_item": "service.inbox:InboxItem",
    "triage": "service.inbox:Triage",
}
"""Name of a schema -> module and class, imported at first use."""


def schema_names() -> tuple[str, ...]:
    """The names `schema` knows."""
    return tuple(RECORDS)


def record_type(name: str) -> Any:
    """The class a schema describes, or the function that returns the schema's body."""
    module, _, attribute = RECORDS[name].partition(":")
    return getattr(import_module(f".{module}", __package__), attribute)


def schema_summary(name: str) -> str:
    """The first line of the record's docstring, read from the source: importing all of them takes seconds."""
    module, _, attribute = RECORDS[name].partition(":")
    source = Path(__file__).parent.joinpath(*module.split(".")).with_suffix(".py")
    match = re.search(
        rf'^(?:class|def) {attribute}\b.*:\n +"""(.*?)(?:"""|$)', source.read_text(encoding="utf-8"), re.M
    )
    return match[1] if match else ""


def schema(name: str) -> Schema:
    """Return the JSON Schema of that name; KeyError where there is none.

    >>> schema("fault")["$id"]
    'urn:ethogram:schema:fault:1.0'
    """
    described = record_type(name)
    heading = {
        "$schema": DRAFT,
        "$id": f"urn:ethogram:schema:{name}:{VERSION}",
        "title": name,
        "description": schema_summary(name),
    }
    return heading | (object_schema(described) if isinstance(described, type) else described())


def object_schema(cls: type) -> Schema:
    """Return the schema of a record: all its fields are required but those it may leave out.

    Of a class that is read, the fields without a default are required.
    """
    properties: dict[str, Schema] = {}
    words, hints = descriptions(cls), _hints(cls)
    omitted: Sequence[str] = getattr(cls, "OMITTED", ())
    if kind := getattr(cls, "RECORD", ""):
        properties["record"] = {"const": kind}
    for name, key in json_fields(cls):
        hint = hints[name] if name in hints else _hints(getattr(cls, name).fget)["return"]
        if name in getattr(cls, "FLAT", ()):
            flat = type_schema(hint)
            properties |= {key: item for key, item in flat["properties"].items() if key != "record"}
            omitted = (*omitted, *set(flat["properties"]).difference(flat["required"]))
            continue
        if name in omitted and get_origin(hint) in (Union, types.UnionType):
            hint = Union[tuple(arg for arg in get_args(hint) if arg is not type(None))]  # noqa: UP007 (made of a tuple)
        body = type_schema(hint)
        text = words.get(name, "" if name in hints else getattr(cls, name).__doc__ or "")
        if text and (name in words or "description" not in body):
            body = {**body, "description": text.replace("None", "null")}
        properties[key] = body
    required = [name for name in properties if name not in (*omitted, *getattr(cls, "OPTIONAL", ()))]
    if issubclass(cls, fields.InputStruct):
        required = [field.encode_name for field in msgspec.structs.fields(cls) if field.required]
    body = {"type": "object", "required": required, "properties": properties}
    closed = getattr(getattr(cls, "__struct_config__", None), "forbid_unknown_fields", False)
    return body | ({"additionalProperties": False} if closed else {})


def settings_schema() -> Schema:
    """ethogram.yaml: every setting, what it may be, and its default."""
    from .config import Settings
    from .config.loading import default_settings

    defaults, body = default_settings(), object_schema(Settings)
    properties = {name: {**item, "default": defaults[name]} for name, item in body["properties"].items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def type_schema(hint: Any) -> Schema:
    """Return the schema of an annotation.

    >>> type_schema(dict[str, int] | None)
    {'type': ['object', 'null'], 'additionalProperties': {'type': 'integer'}}
    """
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        body = type_schema(args[0])
        for meta in args[1:]:
            if isinstance(meta, type):  # a class says whose JSON form a mapping is
                body = object_schema(meta)
            elif isinstance(meta, msgspec.Meta):
                body = body | _limits(meta, body)
            elif known := getattr(meta, "known", ()):  # the keys of a mapping
                values = dict.fromkeys(known, body["additionalProperties"])
                body = body | {"properties": values, "additionalProperties": False}
        return body
    if origin in (Union, types.UnionType):
        return _union([type_schema(arg) for arg in args if arg is not msgspec.UnsetType])
    if origin is Literal:
        return {"enum": list(args)} if len(args) > 1 else {"const": args[0]}
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    kind = origin or hint
    if issubclass(kind, Enum):
        return {"enum": list(kind.__members__)}
    if issubclass(kind, Mapping):
        values = type_schema(args[1]) if args else {}
        return {"type": "object"} | ({"additionalProperties": values} if values else {})
    if hasattr(kind, "_fields"):
        return object_schema(kind)
    if issubclass(kind, tuple) and args and args[-1] is not ...:
        items = [type_schema(arg) for arg in args]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    if kind is Sequence or issubclass(kind, list | tuple):
        return {"type": "array", "items": type_schema(args[0]) if args else {}}
    return object_schema(kind)


_PLAIN: dict[Any, Schema] = {
    Any: {},
    None: {"type": "null"},
    type(None): {"type": "null"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bytes: {"type": "string"},
    datetime: {"type": "string", "pattern": fields.UTC_TIME},
}
_KEYWORDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}


def _limits(meta: Any, body: Schema) -> Schema:
    """The JSON Schema keywords of a `msgspec.Meta`."""
    out = {keyword: getattr(meta, name) for name, keyword in _KEYWORDS.items()}
    sizes = "Items" if body.get("type") == "array" else "Length"
    out |= {f"min{sizes}": meta.min_length, f"max{sizes}": meta.max_length}
    out |= {"pattern": meta.pattern, "description": meta.description, **(meta.extra_json_schema or {})}
    return {keyword: value for keyword, value in out.items() if value is not None}


def _union(members: list[Schema]) -> Schema:
    """Members whose limits cannot contradict each other as one schema with several types, else `anyOf`."""
    if len(members) == 1:
        return members[0]
    limited = [member for member in members if len(member) > 1]
    plain = all(isinstance(member.get("type"), str) and "enum" not in member for member in members)
    if len(limited) > 1 or not plain:
        return {"anyOf": members}
    names = list(dict.fromkeys(member["type"] for member in members))
    return {**(limited[0] if limited else {}), "type": names}


def _hints(described: Any) -> dict[str, Any]:
    """Annotations as types. Names of `fields` are known even where they are imported for type checkers."""
    space = {**vars(fields), **vars(sys.modules[described.__module__])}
    return get_type_hints(described, globalns=space, include_extras=True)


@cache
def descriptions(cls: type) -> dict[str, str]:
    """The text below each field of a class; empty where there is no source."""
    try:
        (body,) = ast.parse(inspect.cleandoc("\n" + inspect.getsource(cls))).body
    except (OSError, SyntaxError):
        return {}
    assert isinstance(body, ast.ClassDef)
    return {
        field.target.id: " ".join(text.value.value.split())
        for field, text in pairwise(body.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }
