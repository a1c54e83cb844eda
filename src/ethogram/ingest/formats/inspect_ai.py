"""Inspect: evaluation logs, as .eval (a ZIP of samples) or .json (one object)."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from ...errors import install_command
from ...models.limits import over
from ..documents import Broken, Document, documents
from ..errors import BadLine, Unreadable
from ..format import Head, Input, adapter
from ..streams import decode, parse_only, seekable, too_large
from ..transcript import AGENT, ToolCall, Transcript, TranscriptAdapter, run_name
from ..values import (
    as_dict,
    as_dicts,
    as_list,
    as_name,
    block_texts,
    need,
    number_at,
    text_at,
    text_of,
    token_usage,
    without_none,
    words,
)

ZIP = b"PK\x03\x04"
MEMBERS = (b"_journal/", b"header.json", b"samples/", b"summaries.json")
MOST_MEMBERS = 100_000
ZSTANDARD = 93
HEADER = 30
"""Bytes before the name in the header of a ZIP member."""
ATTACHED = ("attachment://", "tc://")


@adapter("inspect")
class InspectLog(TranscriptAdapter):
    """A ZIP with `header.json` and `samples/`, or an object with `eval`, `plan` and `samples`."""

    beside = words(
        "events transcript scores results stats plan attachments input target output store error_retries"
    )
    suffixes = (".eval",)
    is_text = False

    def recognises(self, head: bytes, name: str) -> bool:
        return head[HEADER:].startswith(MEMBERS) if head.startswith(ZIP) else super().recognises(head, name)

    def matches(self, head: Head) -> bool:
        task = as_dict(head.first.get("eval"))
        return "task" in task and ("run_id" in task or "model" in task) and "version" in head.first

    def documents(self, file: Input) -> Iterator[Document]:
        """Yield the log; in a ZIP, each sample with the model of the log, numbered as a line."""
        if not file.head.startswith(ZIP):
            yield from documents(file)
            return
        log: dict[str, Any] = {}
        for number, (name, value) in enumerate(_members(file), 1):
            if isinstance(value, Broken):
                yield number, Broken(f"{name}: {value}"), 0
            elif name.startswith("samples/"):
                yield number, {"eval": log.get("eval"), "samples": [value]}, 0
            else:
                log = as_dict(value)

    def runs(self, file: Input, documents: Iterator[tuple[int, Any]]) -> Iterator[Transcript]:
        for line, document in documents:
            samples = as_dict(document).get("samples")
            if not isinstance(document, dict) or not isinstance(samples, list | None):
                faults = Transcript("", file)
                faults.add_list(line, document, "samples")
                yield faults
            for sample in as_list(samples):
                id_ = "-".join(part for key in ("id", "epoch") if (part := as_name(as_dict(sample).get(key))))
                run = SampleTranscript(f"{run_name(file.name)}/{id_ or line}", file, as_dict(sample))
                run.set_metadata(
                    model=text_at(document.get("eval"), "model"), labels=_labels(as_dict(sample))
                )
                # What was asked and is expected is no step of the run.
                run.ignore(*(text for text in as_dict(sample).values() if isinstance(text, str)))
                run.add_records(line, [sample], run.add_sample)
                yield run


def _labels(sample: Mapping[str, Any]) -> dict[str, Any] | None:
    scores = {key: as_dict(score).get("value") for key, score in as_dict(sample.get("scores")).items()}
    limit, error = text_at(sample.get("limit"), "type"), text_at(sample.get("error"), "message")
    return without_none(scores=scores or None, limit=limit, error=error) or None


class SampleTranscript(Transcript):
    """The messages of a sample, with times, usage and agents from its events.

    The messages are what the model saw last: whole, and in order. Events have the time of each, and the
    results that came too late to be seen.
    """

    def __init__(self, thread: str, file: Input, sample: Mapping[str, Any]) -> None:
        super().__init__(thread, file)
        transcript = as_dict(sample.get("transcript"))
        events = as_list(sample.get("events")) or as_list(transcript.get("events"))
        self._attachments = as_dict(sample.get("attachments")) or as_dict(transcript.get("content"))
        self._events = as_dicts(events)
        self._tools = {event["id"]: event for event in self._of_kind("tool") if text_at(event, "id")}
        self._models = {key: event for event in self._of_kind("model") for key in _keys(_output(event))}
        self._start = self._events[0].get("timestamp") if self._events else None
        self._seen: set[str] = set()

    def _of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self._events if event.get("event") == kind]

    def add_sample(self, sample: Any) -> None:
        """Add all of a sample."""
        if need(sample, dict, "a sample").get("messages") is not None:
            self.add_list(self.line, sample, "messages")
        unseen = [event for call_id, event in self._tools.items() if call_id not in self._seen]
        self.add_records(self.line, unseen, self._add_unseen)
        for event in self._of_kind("compaction"):
            self.condensation(None, at=event.get("timestamp"))

    def add(self, record: Any) -> None:
        message = need(record, dict, "a message")
        role, content = message.get("role"), message.get("content")
        if role == "assistant":
            self._turn(message, content)
        elif role == "tool":
            call_id, event, error = message.get("tool_call_id"), dict[str, Any](), message.get("error")
            if isinstance(call_id, str):
                event = self._tools.get(call_id, {})
                self._seen.add(call_id)
            self._result(
                content,
                error,
                event,
                call_id=call_id,
                tool=message.get("function"),
                error_type=text_at(error, "type"),
                duration=number_at(event, "working_time"),
            )
        elif role in ("user", "system"):
            self.message(str(role), self._text(content), at=None if self._seen else self._start)
        else:
            self.unknown(role)

    def _turn(self, message: Mapping[str, Any], content: Any) -> None:
        event: Mapping[str, Any] = {}
        if message.get("source") != "input":
            event = next((self._models[key] for key in _keys(message) if key in self._models), {})
        output = as_dict(event.get("output"))
        if isinstance(content, list):
            text = self._text([part for part in content if as_dict(part).get("type") != "reasoning"])
        else:
            text = self._text(content)
        self.turn(
            text,
            [ToolCall.of(call, "function", "arguments") for call in as_list(message.get("tool_calls"))],
            at=_end(event),
            thought=block_texts(content, "reasoning", "reasoning"),
            usage=token_usage(output.get("usage")),
            model=text_at(message, "model") or text_at(output, "model"),
            message_id=text_at(message, "id"),
        )

    def _result(self, content: Any, error: Any, event: Mapping[str, Any], **attributes: Any) -> None:
        self.result(
            self._text(content), error=text_at(error, "message", "type"), at=_end(event), **attributes
        )

    def _add_unseen(self, event: Mapping[str, Any]) -> None:
        """Add a call that ended after the last message."""
        agent = text_at(event, "agent")
        origin = {"subject": f"{AGENT}/{agent}", "parent": AGENT} if agent else {}
        self.ensure_call(ToolCall.of(event, "function", "arguments"), at=event.get("timestamp"), **origin)
        self._result(event.get("result"), event.get("error"), event, call_id=event.get("id"))

    def _text(self, content: Any) -> str:
        """Return the text of a content, also where it is stored as an attachment."""
        text = text_of(content)
        attached = self._attachments.get(text.partition("://")[2]) if text.startswith(ATTACHED) else None
        if not isinstance(attached, str):
            return text
        self.ignore(content)
        return attached


def _end(event: Mapping[str, Any]) -> Any:
    return event.get("completed") or event.get("timestamp")


def _output(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message a model event ended with."""
    choices = as_list(as_dict(event.get("output")).get("choices"))
    return as_dict(as_dict(choices[0]).get("message")) if choices else {}


def _keys(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield what identifies a message: its id, those of its calls, and its text."""
    yield from (
        id_ for item in (message, *as_list(message.get("tool_calls"))) if (id_ := text_at(item, "id"))
    )
    if text := text_of(message.get("content")):
        yield f"text {text}"


def _members(file: Input) -> Iterator[tuple[str, Any]]:
    """Yield name and value of the members of a ZIP that are needed, within the limits."""
    stream, size = seekable(file.stream, file.limits)
    try:
        archive = zipfile.ZipFile(stream)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise Unreadable(f"not a whole ZIP file: {error}") from None
    with archive:
        infos = archive.infolist()
        if len(infos) > MOST_MEMBERS:
            raise Unreadable(f"the ZIP file has more than {MOST_MEMBERS:,} members")
        left = file.limits.most_unpacked(size)
        for info in infos:
            name = info.filename
            # The journal has its start also where a run was broken off before the header was written.
            if name == "_journal/start.json" or (name.startswith("samples/") and name.endswith(".json")):
                # No more is unpacked than a member says that it holds, so that is what counts.
                left -= info.file_size
                if left < 0 or info.file_size > file.limits.most_unpacked(info.compress_size):
                    raise Unreadable(too_large(file.limits, size))
                yield name, _member(archive, info, file.limits.whole)


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> Any:
    if info.file_size > most:
        return Broken(over("whole", most, f"larger than {most} bytes"))
    try:
        return parse_only(decode(_content(archive, info)), lenient=True)
    except BadLine as bad:
        return Broken(bad.message)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, ValueError) as error:
        return Broken(f"cannot be unpacked: {error}")


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return the bytes of a member. Zstandard, which Inspect writes, is in zipfile from Python 3.14 on."""
    if info.compress_type != ZSTANDARD or hasattr(zipfile, "ZIP_ZSTANDARD"):
        return archive.read(info)
    try:
        import pyarrow
    except ImportError:
        raise NotImplementedError(
            f"it is compressed with Zstandard; what reads it comes with {install_command('parquet')}"
        ) from None
    stream = archive.fp
    if stream is None or info.flag_bits & 1:
        raise NotImplementedError("it is encrypted")
    stream.seek(info.header_offset)
    header = stream.read(HEADER)
    stream.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), 1)
    raw = pyarrow.py_buffer(stream.read(info.compress_size))
    with pyarrow.CompressedInputStream(pyarrow.BufferReader(raw), "zstd") as unpacking:
        content: bytes = unpacking.read(info.file_size + 1)
    if len(content) != info.file_size or zlib.crc32(content) != info.CRC:
        raise zipfile.BadZipFile("its content does not fit its checksum")
    return content
