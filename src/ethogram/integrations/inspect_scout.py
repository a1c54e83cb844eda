"""Inspect Scout: a scanner that returns detections, with references to the messages of their evidence.

Only `ethogram_patterns` needs the package `inspect_scout`, and imports it when it is called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..app.analyze import analyze, load_library
from ..config import Settings
from ..errors import BadUsage
from ..ingest.format import Input
from ..ingest.formats.inspect_ai import SampleTranscript
from ..models import Detection
from ..models.limits import Limits
from ..report.wording import sentence, title_of

if TYPE_CHECKING:
    from ..patterns.library import Library

EVENTS = ("model", "tool", "compaction")
"""Events of Inspect that are read, beside all messages."""
VERSION = 1
"""Of the scanner: Scout scans transcripts again when it changes."""


class Source(NamedTuple):
    """What an event was read from: a message or an event of Inspect, by its id, and how it is cited."""

    type: str
    id: str
    cite: str


def ethogram_patterns(patterns: Sequence[str | Path] = (), settings: Settings | None = None) -> Any:
    """A Scout scanner for these patterns (default: those that are on).

    Scout gets one result for each detection: the confidence as value, the pattern as label, and references
    to messages and events. A transcript without detections has no result.
    """
    try:
        from inspect_scout import Reference, Result, Transcript, scanner
    except ImportError:
        raise BadUsage("the scanner needs the package 'inspect_scout': pip install inspect_scout") from None
    library = load_library(patterns or None, settings or Settings())

    def make(patterns: list[str]) -> Any:
        async def scan(transcript: Any) -> Any:
            return [
                Result(**result, references=[Reference(**source._asdict()) for source in sources])
                for result, sources in detect(transcript.model_dump(mode="json"), library, settings)
            ]

        # Scout reads from the annotations what a scanner takes.
        scan.__annotations__ = {"transcript": Transcript, "return": list[Result]}
        return scan

    declare = scanner(name="ethogram_patterns", messages="all", events=list(EVENTS), version=VERSION)
    return declare(make)([str(item) for item in patterns])


def detect(
    transcript: Mapping[str, Any], library: Library, settings: Settings | None = None
) -> list[tuple[dict[str, Any], list[Source]]]:
    """The fields of a result and its sources, for each detection in the JSON form of a transcript."""
    lines, sources = events_of(transcript)
    results = []
    for detection in analyze(lines, library, settings=settings):
        own = dict.fromkeys(sources[item.event] for item in detection.evidence if item.event in sources)
        results.append((result_of(detection, own), list(own)))
    return results


def result_of(detection: Detection, sources: Mapping[Source, None]) -> dict[str, Any]:
    """The fields of a result, without its references."""
    cites = " ".join(source.cite for source in sources)
    record = detection.to_dict()
    names = ("id", "pattern", "title", "version", "severity", "state", "subject", "count", "details")
    return {
        "value": detection.confidence,
        "answer": detection.severity,
        "label": detection.pattern,
        "explanation": f"{title_of(detection)}: {sentence(detection)}" + (f" {cites}" if cites else ""),
        "metadata": {name: record[name] for name in names},
    }


def events_of(transcript: Mapping[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Source]]:
    """The event lines of a transcript, as of an Inspect log, and what each was read from."""
    messages = [item for item in transcript.get("messages") or () if isinstance(item, dict)]
    events = [item for item in transcript.get("events") or () if isinstance(item, dict)]
    file = Input("transcript", BytesIO(), b"", {}, Limits())
    run = SampleTranscript(str(transcript.get("transcript_id") or "transcript"), file, {"events": events})
    sources: dict[str, Source] = {}
    for number, message in enumerate(messages, start=1):
        before = len(run.events)
        run.add_records(number, [message])
        if id_ := message.get("id"):
            source = Source("message", id_, f"[M{number}]")
            sources |= {event["id"]: source for event in run.events[before:]}
    before = len(run.events)
    run.add_sample({})
    tools = {item["id"]: item for item in events if item.get("event") == "tool" and item.get("id")}
    for event in run.events[before:]:
        tool = tools.get(event["attributes"].get("call_id"), {})
        if id_ := tool.get("uuid"):
            sources[event["id"]] = Source("event", id_, f"[E{events.index(tool) + 1}]")
    lines = [line for _, line, _ in run.records() if isinstance(line, dict)]
    return lines, sources
