"""Settings as pipelines nest them, under `pattern_detection` and `pattern_configs`, in the form of ours.

The nodes are moved, not their values, so that every fault keeps its line and column.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import Fault
from ..language.yaml_source import Fields, Node, Scalar
from ..models.slotted import replace

SECTION = "pattern_detection"
CONFIGS = "pattern_configs"
COMBINATIONS = "combination_detection"
LIFTED = ("enabled_patterns", CONFIGS, COMBINATIONS, "learning")
"""What may stand under `pattern_detection`."""
SHARED = (
    "normalization_level", "critical_paths", "inference_enabled", "semantic_analysis", "resources_monitored",
)  # fmt: skip
"""Keys of one pattern there that are settings of all runs here."""

Entry = tuple[tuple[str, ...], Scalar, Node]
"""The place of a value in our settings, its key and its value."""


def lifted(node: Fields, path: str, faults: list[Fault]) -> Fields:
    """Return the settings with what stands under `pattern_detection` and `pattern_configs` in its place.

    A key that is set twice, and one that is not known there, is a fault.
    """
    if (
        node.get(SECTION) is None
        and node.get(CONFIGS) is None
        and not isinstance(node.get(COMBINATIONS), Fields)
    ):
        return node
    return _merged(list(_entries(node, path, faults)), node, path, faults)


def _merged(entries: list[Entry], whole: Fields, path: str, faults: list[Fault]) -> Fields:
    """The entries as one mapping; a key that the file does not have takes the position of the first below."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry[0][0], []).append(entry)
    fields: list[tuple[Scalar, Node]] = []
    for name, group in groups.items():
        (place, first, node), *others = group
        if others or len(place) > 1:
            below: list[Entry] = []
            for (_, *rest), key, value in group:
                if rest:
                    below.append((tuple(rest), key, value))
                elif isinstance(value, Fields):
                    below += [((inner.text,), inner, item) for inner, item in value.entries]
                else:
                    faults.append(Fault(path, key.line, key.column, f"{key.text} is set twice"))
            node = _merged(below, whole, path, faults)
        fields.append((replace(first, text=name), node))
    return Fields(tuple(fields), whole.line, whole.column)


def _entries(node: Fields, path: str, faults: list[Fault]) -> Iterator[Entry]:
    for key, value in node.entries:
        if key.text == SECTION and isinstance(value, Fields):
            for inner, item in value.entries:
                if inner.text in LIFTED:
                    yield from _entry(inner, item)
                else:
                    message = f"unknown key in {SECTION}: {inner.text!r:.60}; it has {', '.join(LIFTED)}"
                    faults.append(Fault(path, inner.line, inner.column, message))
        else:
            yield from _entry(key, value)


def _entry(key: Scalar, value: Node) -> Iterator[Entry]:
    if key.text == CONFIGS and isinstance(value, Fields):
        for pattern, numbers in value.entries:
            for name, item in numbers.entries if isinstance(numbers, Fields) else ():
                if name.text in SHARED:
                    yield (name.text,), name, item
                else:
                    yield ("parameters", pattern.text, name.text), name, _number(item)
    elif key.text == COMBINATIONS and isinstance(value, Fields):
        for name, item in value.entries:
            if name.text == "enabled":
                yield (COMBINATIONS,), name, item
            elif name.text == "risk_multipliers":
                yield ("risk", "multipliers"), name, item
            else:
                yield (COMBINATIONS, name.text), name, item
    else:
        yield (key.text,), key, value


def _number(node: Node) -> Node:
    """A parameter that is true or false as a number."""
    if isinstance(node, Scalar) and isinstance(node.value, bool):
        return replace(node, text=str(int(node.value)))
    return node
