"""What is left of an event where its text is not kept: for runs of agents, texts among the attributes too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MARK = "text_not_kept"
"""The attribute of a call or result that stands without its texts."""
STEPS = frozenset(("action", "result"))
SAID = frozenset(("thought", "task", "goal", "labels"))
"""Attributes that hold texts on a message of a run as well."""
TEXTS = SAID | frozenset(
    ("arguments", "command", "result", "error", "input", "output", "content", "query", "stdout", "stderr")
)
LONGEST = 200
"""Characters of a text that may be a name: of a tool, a file, a model."""


def bare_attributes(kind: str, attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """The attributes without free text: numbers, names and paths stay, and that there was an error does.

    >>> sorted(bare_attributes("result", {"tool": "bash", "result": "secret", "exit_code": 1}).items())
    [('exit_code', 1), ('result_length', 6), ('text_not_kept', True), ('tool', 'bash')]
    """
    if kind in STEPS:
        kept = {key: value for key, value in attributes.items() if not _is_text(key, value)}
        if len(kept) == len(attributes):
            return attributes
        if attributes.get("error"):
            kept.setdefault("error", True)
        if isinstance(said := attributes.get("result"), str):
            kept.setdefault("result_length", len(said))
        return {**kept, MARK: True}
    if kind in ("message", "condensation") and not SAID.isdisjoint(attributes):
        return {
            key: value for key, value in attributes.items() if key not in SAID or not _is_text(key, value)
        }
    return attributes


def _is_text(key: str, value: Any) -> bool:
    if isinstance(value, str):
        return key in TEXTS or len(value) > LONGEST or "\n" in value
    return isinstance(value, Mapping | list | tuple)
