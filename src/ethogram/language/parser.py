"""Pattern files to patterns: the fields that carry meaning."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..errors import did_you_mean
from ..models import SEVERITIES, stable_hash
from ..models.constants import STATUSES
from .ast import Combination, Expr, Pattern, Sequence, Shape, Slot, Spread
from .expressions import BROKEN, Scope, Typed
from .fields import FieldReader
from .history import EXCHANGE
from .shape_parser import COMBINATIONS, RESULTS, parse_shape, read_name
from .templates import NUMBER_FORM, split_form
from .vocabulary import Vocabulary
from .yaml_source import Fields, Items, Node, Scalar, plain

GROUP_FIELDS = ("subject", "target", "thread", "session")
VERSIONED = ("group_by", "shape", "define", "tell_at")
NO_CONFIDENCE = "confidence is missing; write a number from 0 to 1 or an expression"
NO_SEVERITY = "severity is missing; write severity: high, or severity: {medium: n >= 3, high: n >= 4}"
_WORD = re.compile(r"[A-Za-z_]\w*")
_PIECE = re.compile(r"\{\{|\}\}|\{([^}]*)\}|[{}]|[^{}]+")


def parse_patterns(
    read: FieldReader, fields: Fields, vocabulary: Vocabulary, overlay: Mapping[str, float] | None = None
) -> tuple[Pattern, ...]:
    """The patterns of a file (several for for_each), valid where `read` has no faults."""
    parameters = _parameters(read, fields.get("parameters"), vocabulary, overlay or {})
    patterns = (
        _pattern(read, fields, Scope(vocabulary, parameters=parameters, bindings=bindings), suffix)
        for suffix, bindings in _for_each(read, fields.get("for_each"), vocabulary)
    )
    return tuple(pattern for pattern in patterns if pattern is not None)


def _pattern(read: FieldReader, fields: Fields, scope: Scope, suffix: str) -> Pattern | None:
    name = read.text(fields.get("name"), "name")
    scope = scope.at("here", defines=_defines(read, fields.get("define"), scope))
    shape_node = fields.get("shape")
    kind, shape = ("", None) if shape_node is None else parse_shape(read, shape_node, scope)
    if shape is None:
        # Without a shape, other checks would report faults that are none.
        if fields.get("confidence") is None and kind not in (*COMBINATIONS, "spread"):
            read.fault(fields, NO_CONFIDENCE)
        if fields.get("severity") is None:
            _no_severity(read, fields)
        return None
    scope = _after(scope, kind, shape)
    details = _details(read, fields.get("details"), scope)
    return Pattern(
        name=name + (f".{suffix}" if suffix else ""),
        shape=shape,
        group_by=_group_by(read, fields.get("group_by"), scope, shape),
        confidence=_confidence(read, fields, scope, shape),
        severities=_severities(read, fields, scope),
        details=tuple((key, typed[0]) for key, typed in details.items()),
        explanation=_explanation(
            read, fields.get("explanation"), scope.at("in explanation", details=details)
        ),
        tell_at=_tell_at(read, fields.get("tell_at"), scope, shape),
        confirms=_confirms(read, fields.get("confirms"), scope),
        cause=read.text(fields.get("cause"), "cause") or name,
        title=read.text(fields.get("title"), "title"),
        status=_status(read, fields.get("status")),
        recommendation=read.text(fields.get("recommendation"), "recommendation"),
        version=_version(read, fields, scope, suffix),
        file=name,
    )


def _version(read: FieldReader, fields: Fields, scope: Scope, suffix: str) -> str:
    meant: dict[str, Any] = {name: plain(fields.get(name)) for name in VERSIONED}
    tables = {name: dict(table) for name, table in sorted(read.tables.items())}
    return stable_hash("pattern", meant, dict(scope.parameters), suffix, tables)[:12]


def _after(scope: Scope, kind: str, shape: Shape) -> Scope:
    """The names that confidence, severity, details and explanation may use."""
    steps: tuple[str, ...] = ()
    if isinstance(shape, Sequence):
        steps = tuple(item.name for item in shape.items if hasattr(item, "name"))
    parts: tuple[str, ...] = ()
    if isinstance(shape, Combination):
        parts = shape.parts
    if isinstance(shape, Spread):
        parts = (shape.first, shape.then)
    return scope.at("here", steps=steps, parts=parts, gathers=True, results=RESULTS.get(kind, {}))


def _parameters(
    read: FieldReader, node: Node | None, vocabulary: Vocabulary, overlay: Mapping[str, float]
) -> dict[str, float]:
    record: dict[str, float] = {}
    if isinstance(node, Fields):
        for key, value in node.entries:
            read_name(read, key, "parameter", Scope(vocabulary))
            number = value.value if isinstance(value, Scalar) else None
            if isinstance(number, bool) or not isinstance(number, (int, float)):
                read.fault(value, f"parameter {key.text!r} takes a number")
                continue
            record[key.text] = float(number)
    elif node is not None:
        read.fault(node, "parameters takes numbers by name: {warmth: 0.25}")
    for name, override in overlay.items():
        if name not in record:
            place = node if node is not None else Scalar("", 1, 1)
            read.fault(place, f"settings give a parameter {name!r}{did_you_mean(name, record)}")
        else:
            record[name] = float(override)
    return record


def _for_each(
    read: FieldReader, node: Node | None, vocabulary: Vocabulary
) -> list[tuple[str, dict[str, str]]]:
    if node is None:
        return [("", {})]
    if not isinstance(node, Fields) or len(node.entries) != 1 or not isinstance(node.entries[0][1], Items):
        read.fault(node, "for_each takes one name with a list of signals: {resource: [memory_mb, tokens]}")
        return [("", {})]
    key, values = node.entries[0]
    read_name(read, key, "for_each name", Scope(vocabulary))
    names = read.texts(values, "for_each")
    if not names or len(set(names)) != len(names) or len(names) > 50:
        read.fault(values, "for_each takes 1 to 50 different signals")
    for name, item in zip(names, values.items if isinstance(values, Items) else (), strict=False):
        if name not in vocabulary.signals and name not in vocabulary.indicators:
            read.fault(item, f"unknown signal {name!r}{did_you_mean(name, vocabulary.signals)}")
    return [(name, {key.text: name}) for name in dict.fromkeys(names)] or [("", {})]


def _defines(read: FieldReader, node: Node | None, scope: Scope) -> dict[str, Typed]:
    """The defines with others resolved in them, in any order."""
    if node is None:
        return {}
    if not isinstance(node, Fields):
        read.fault(node, "define takes expressions by name")
        return {}
    entries = {key.text: (key, value) for key, value in node.entries}
    record: dict[str, Typed] = {}
    waiting = dict(entries)
    while waiting:
        ready = [name for name, (_, value) in waiting.items() if not _words(value) & (waiting.keys())]
        if not ready:
            names = ", ".join(sorted(waiting))
            key = next(iter(waiting.values()))[0]
            read.fault(key, f"define goes in a circle: {names}")
            return record | dict.fromkeys(waiting, BROKEN)
        for name in ready:
            key, value = waiting.pop(name)
            read_name(read, key, "define", scope)
            here = scope.at(f"in define {name!r}", defines=record)
            record[name] = read.expression(value, here, "any", f"define {name!r}")
    return record


def _words(node: Node) -> set[str]:
    return set(_WORD.findall(node.text)) if isinstance(node, Scalar) else set()


def _group_by(read: FieldReader, node: Node | None, scope: Scope, shape: Shape) -> tuple[str, ...]:
    names = list(read.texts(node, "group_by")) or ["subject"]
    items = node.items if isinstance(node, Items) else (node,) * len(names)
    for index, (name, item) in enumerate(zip(names, items, strict=False)):
        place = item if item is not None else Scalar("", 1, 1)
        known = (*GROUP_FIELDS, EXCHANGE, *scope.vocabulary.signals, *scope.vocabulary.attributes)
        if name in GROUP_FIELDS or (name == EXCHANGE and not isinstance(shape, (Combination, Spread))):
            continue
        if name not in scope.vocabulary.signals and name not in scope.vocabulary.attributes:
            read.fault(place, f"unknown key {name!r} in group_by{did_you_mean(name, known)}")
        elif index != len(names) - 1:
            read.fault(place, f"{name!r} may only be the last key of group_by")
        elif isinstance(shape, (Combination, Spread)):
            read.fault(place, "a combination is grouped by subject, target, thread and session")
        elif scope.vocabulary.signals.get(name) == "number":
            read.fault(place, f"{name!r} is a number; the last key of group_by is a category")
    if len(set(names)) != len(names):
        read.fault(node or Scalar("", 1, 1), "group_by names a key twice")
    if isinstance(shape, Spread) and set(names) != {"subject"}:
        read.fault(node or Scalar("", 1, 1), "spread belongs to a subject: group_by: [subject]")
    return tuple(names) if "subject" in names else ("subject", *names)


def _confidence(read: FieldReader, fields: Fields, scope: Scope, shape: Shape) -> Expr | None:
    node = fields.get("confidence")
    if node is None:
        if not isinstance(shape, (Combination, Spread)):
            read.fault(fields, NO_CONFIDENCE)
        return None
    return read.expression(node, scope.at("in confidence"), "number", "confidence")[0]


def _severities(read: FieldReader, fields: Fields, scope: Scope) -> tuple[tuple[str, Expr | None], ...]:
    node = fields.get("severity")
    if node is None:
        _no_severity(read, fields)
        return (("low", None),)
    if isinstance(node, Scalar):
        return ((_severity_name(read, node, read.text(node, "severity")), None),)
    if not isinstance(node, Fields) or not node.entries:
        read.fault(
            node, "severity takes a severity, or conditions by severity: {medium: n >= 3, high: n >= 4}"
        )
        return (("low", None),)
    severities = [
        (_severity_name(read, key, key.text), read.condition(value, scope.at("in severity"), "severity"))
        for key, value in node.entries
    ]
    return tuple(sorted(severities, key=lambda pair: SEVERITIES.index(pair[0])))


def _no_severity(read: FieldReader, fields: Fields) -> None:
    if fields.get("level") is None and fields.get("levels") is None:
        read.fault(fields, NO_SEVERITY)


def _severity_name(read: FieldReader, node: Node, name: str) -> str:
    if name in SEVERITIES:
        return name
    near = did_you_mean(name, SEVERITIES) or f"; one of {', '.join(SEVERITIES)}"
    read.fault(node, f"unknown severity {name!r}{near}")
    return "low"


def _details(read: FieldReader, node: Node | None, scope: Scope) -> dict[str, Typed]:
    if node is None:
        return {}
    if not isinstance(node, Fields):
        read.fault(node, "details takes expressions by name")
        return {}
    here = scope.at("in details", lists=True)
    details = {}
    for key, value in node.entries:
        if not key.text.isidentifier() or len(key.text) > 60:
            read.fault(key, f"detail {key.text[:60]!r} must be a plain word")
        typed = read.expression(value, here, "any", f"detail {key.text!r}")
        if typed[1] == "truth":
            read.fault(value, "a detail is a number, category or list; or_else, count or share make one")
        details[key.text] = typed
    return details


def _tell_at(read: FieldReader, node: Node | None, scope: Scope, shape: Shape) -> int | None:
    if node is None:
        return None
    if not isinstance(shape, Sequence):
        read.fault(node, "tell_at goes with a sequence")
        return None
    steps = len(shape.steps)
    if steps < 2:
        read.fault(node, "tell_at needs a sequence of at least two steps")
        return None
    return read.count(node, scope, f"tell_at (the sequence has {steps} steps)", 1, 1, steps - 1)


def _confirms(read: FieldReader, node: Node | None, scope: Scope) -> tuple[str, ...]:
    names = tuple(name.replace("-", "_") for name in read.texts(node, "confirms"))
    for name in names:
        if name not in scope.vocabulary.indicators:
            place = node if node is not None else Scalar("", 1, 1)
            near = did_you_mean(name, scope.vocabulary.indicators)
            read.fault(place, f"unknown indicator {name!r}{near}")
    return names


def _status(read: FieldReader, node: Node | None) -> str:
    status = read.text(node, "status") or "stable"
    if status not in STATUSES:
        if status == "test":
            read.fault(node or Scalar("", 1, 1), "status 'test' is now 'shadow'")
            return "stable"
        near = did_you_mean(status, STATUSES) or f"; one of {', '.join(STATUSES)}"
        read.fault(node or Scalar("", 1, 1), f"unknown status {status!r:.80}{near}")
        return "stable"
    return status


def _explanation(read: FieldReader, node: Node | None, scope: Scope) -> tuple[str | Slot, ...]:
    """The pieces of the explanation in order: texts, and slots such as `{warm.count:time|times}`."""
    text = read.text(node, "explanation")
    if not isinstance(node, Scalar) or not text:
        return ()
    pieces: list[str | Slot] = []
    for match in _PIECE.finditer(text):
        piece, inner = match[0], match[1]
        if inner is not None:
            pieces.append(_slot(read, node, inner, match.start(1), scope))
        elif piece in ("{", "}"):
            other = "}" if piece == "{" else "{"
            message = f"a {piece} has no {other}; write {piece * 2} for the sign itself"
            _slot_fault(read, node, match.start(), message)
        else:
            pieces.append(piece[0] if piece in ("{{", "}}") else piece)
    return tuple(pieces)


def _slot(read: FieldReader, node: Scalar, inner: str, offset: int, scope: Scope) -> Slot:
    body, _, form = inner.partition(":")
    line, column = node.place(offset)
    number, words = split_form(form)
    if not NUMBER_FORM.fullmatch(number) or not (words is None or words.strip() == words):
        known = ".2f, .0%, d, time|times, .0f day|days or nothing"
        _slot_fault(read, node, offset, f"format {form[:20]!r} is not known; write {known}")
        form = ""
    expr, kind = read.expression(Scalar(body, line, column, None, body), scope, "any", "{...}")
    if kind == "truth" or (kind == "list" and form):
        _slot_fault(read, node, offset, "a number or category is due in {...}")
    return Slot(expr, form)


def _slot_fault(read: FieldReader, node: Scalar, offset: int, message: str) -> None:
    line, column = node.place(offset)
    read.fault(Scalar("", line, column), message)
