"""Model calls told once, though several programs may have recorded the same one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .documents import dict_of
from .otel_messages import output_of, usage
from .spans import DETAILS, Span, at_path, kind_of

MODEL = frozenset(("LLM", "chat", "text_completion", "generate_content", "completion"))
Placed = tuple[int, Span]
"""The line of a span, and the span."""


def once(spans: Sequence[Placed]) -> list[Placed]:
    """The spans without those that tell a model call again.

    A library and the program around it may each record a call: one span inside the other, or two with the
    same id of the answer. That with the content counts, and of two that have it (or have not) the outer one.
    """
    whole = with_logged(spans)
    models = [span for _, span in whole if kind_of(span) in MODEL]
    dropped = _inside(models) | _same_answer(models)
    return [(line, span) for line, span in whole if span.id not in dropped or kind_of(span) not in MODEL]


def _inside(models: Sequence[Span]) -> set[str]:
    outer = {span.id: span for span in models}
    inner = [(outer[span.parent], span) for span in models if span.parent in outer and span.id != span.parent]
    told = {around.id for around, span in inner if _tells(span)}
    return {
        around.id if around.id in told and not _tells(around) else span.id
        for around, span in inner
        if _tells(around) or around.id in told or usage(around.attributes)
    }


def _same_answer(models: Sequence[Span]) -> set[str]:
    first: dict[Any, Span] = {}
    dropped: set[str] = set()
    for span in models:
        answer = at_path(span.attributes, "gen_ai.response.id")
        if not isinstance(answer, str):
            continue
        other = first.setdefault(answer, span)
        if other is not span:
            kept, other = (span, other) if _tells(span) and not _tells(other) else (other, span)
            first[answer] = kept
            dropped.add(other.id)
    return dropped


def _tells(span: Span) -> bool:
    return output_of(span) is not None


def with_logged(spans: Sequence[Placed]) -> list[Placed]:
    """The spans, and log records of model calls: what a record tells goes to its span, where that is here."""
    records = {span.id: span for _, span in spans if span.name == DETAILS}
    own = [(line, span) for line, span in spans if span.name != DETAILS]
    known = {span.id for _, span in own}
    joined = [(line, _joined(span, records[span.id]) if span.id in records else span) for line, span in own]
    return joined + [(line, span) for line, span in spans if span.name == DETAILS and span.id not in known]


def _joined(span: Span, record: Span) -> Span:
    """A span with the GenAI attributes that only its log record has."""
    told = {**dict_of(record.attributes.get("gen_ai")), **dict_of(span.attributes.get("gen_ai"))}
    return replace(span, attributes={**span.attributes, "gen_ai": told})
