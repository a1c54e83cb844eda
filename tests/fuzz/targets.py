"""What is fuzzed: every reader of files and messages from outside, its seeds, and what must hold."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import ethogram
from ethogram import registry
from ethogram.agents.hook import state_db
from ethogram.agents.hook.replay import in_process
from ethogram.app.chat.files import read_turns
from ethogram.app.judging.verdicts import read_verdicts
from ethogram.config import load_settings
from ethogram.config.learned import read_changes
from ethogram.config.mutes import add_mute, read_mutes
from ethogram.config.settings import Settings
from ethogram.errors import BadInput, EthogramError, Fault
from ethogram.evaluators.response_parser import check_answer
from ethogram.ingest import Limits, events_of, read_events
from ethogram.ingest import reader as read
from ethogram.language.compiler import compile_patterns
from ethogram.models import TRAITS, Event
from ethogram.models.mute import Mute, mute_id
from ethogram.patterns.catalogue import load_vocabulary
from ethogram.patterns.library import SHIPPED
from ethogram.patterns.pattern_file import read_pattern_file
from ethogram.store import open_store
from fuzz.loop import Target
from run_cases import CASES

SOURCE = Path(ethogram.__file__).parent
WRITTEN = Path(__file__).parents[1] / "ingest" / "written"
NOW = datetime(2026, 6, 1, tzinfo=UTC)
# Small, so that small inputs reach them.
LIMITS = Limits(line=50_000, whole=150_000, text=5_000, name=100, readings=20, attributes=20, depth=12)
BINARY = ("inspect", "parquet")
"""Formats without lines."""
WHOLE = ("larger than", "this is UTF-16")
"""How faults of a whole file begin, which are at no line."""


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def at(second: int) -> str:
    return f"2026-01-01T10:00:{second:02}Z"


POST = {"id": "p", "author": "ann", "content": "first", "created_at": at(0), "title": "T"}
REPLY = {"id": "a", "author": {"name": "bo"}, "content": "one", "created_at": at(1), "parent": "p"}
TALK = [
    {"speaker": "ann", "role": "agent", "text": "hello", "at": at(0), "labels": {"kind": "post", "id": "p"}},
    {"speaker": "bo", "role": "agent", "text": "hi", "at": at(1), "labels": {"id": "c", "parent": "p"}},
]
SCORED = {
    "message_id": "m1", "subject": "ann", "at": at(0), "kind": "post", "title": "Hello", "text": None,
    "preview": "Hello all, ...", "traits": {"compassion": 0.5, "manipulation": 0.0},
    "indicators": [{"id": "GDW-HUMOR-TRUTH", "name": "humour", "confidence": 0.7}], "status": "aligned",
}  # fmt: skip
EVENT = {
    "id": "e1", "at": at(0), "seq": 1, "subject": "ann", "target": "bo", "thread": "t", "kind": "message",
    "text": "hello", "attributes": {"tool": "bash", "depth": {"a": [1, 2]}},
    "readings": {"compassion": 0.5, "code": {"value": "E1", "scorer": "s:1", "width": 3}},
}  # fmt: skip
SAYS = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi", "at": at(1)}]
CSV = b"id,at,subject,compassion,readings.code,attributes.tool\ne1,2026-01-01T10:00:00Z,ann,0.5,E1,bash\n"
ANSWER = {
    "fence": "5f0c1d2e", "traits": dict.fromkeys(TRAITS, 0.25),
    "indicators": [{"id": "MAN_URGENCY", "confidence": 0.9, "quote": "last day"}],
}  # fmt: skip
CALL = {
    "session_id": "s",
    "cwd": "/srv/project",
    "tool_name": "Bash",
    "tool_input": {"command": "make"},
    "tool_use_id": "c",
}
PAYLOADS = [
    {**CALL, "hook_event_name": "PreToolUse"},
    {
        **CALL,
        "hook_event_name": "PostToolUse",
        "tool_response": {"stdout": "x", "stderr": "", "exit_code": 1},
    },
    {**CALL, "hook_event_name": "PostToolUseFailure", "error": "Exit code 127"},
    {"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "Mend it.", "cwd": "/srv/project"},
]
MUTES = b"# ours\nmutes:\n  - {subject: ann, pattern: loop, reason: known, until: 2027-01-01T00:00:00Z}\n"
LEARNED = (
    b"parameters:\n  loop:\n    in_a_row: 4\nchanges:\n  - {at: 2026-06-01T12:00:00Z, by: ann, pattern: loop,"
    b" parameter: in_a_row, old: 3, new: 4, why: too often}\n"
)
SETTINGS = (
    b"lateness: 30s\nfail_on: high\nsignals: {mine: number}\nlimits: {name: 300}\nstatus: {loop: shadow}\n"
)
VERDICTS = (
    b"verdict,detection,by,at,reason\nconfirmed,d1,ann,2026-01-01T10:00:00Z,seen\n",
    b"verdict,pattern,subject,first_event,last_event\nmissed,loop,ann,e1,e2\nfalse_alarm,loop,bo,e1,e2\n",
)


def targets(folder: Path) -> Iterator[Target]:
    """Every target; those that read files from a path do so in `folder`."""
    for name in registry.adapters.names():
        seeds = tuple(case.content for case in CASES if case.adapter == name) + _written(name)
        yield Target(name, seeds or MORE[name](), _adapter(name), str(SOURCE / "ingest"))
    # The text a pattern is written in is parsed in shapes, the file around it in library.
    patterns = tuple((SHIPPED / pattern).read_bytes() for pattern in PATTERNS)
    yield Target("pattern file", patterns, _pattern(folder), str(SOURCE / "language"))
    yield Target(
        "settings file", (SETTINGS,), _file(folder / "ethogram.yaml", _settings), str(SOURCE / "config")
    )
    yield Target("mute file", (MUTES,), _file(folder / "mutes.yaml", _mutes), str(SOURCE / "config"))
    yield Target(
        "learned file", (LEARNED,), _file(folder / "learned.yaml", read_changes), str(SOURCE / "config")
    )
    yield Target("verdict file", VERDICTS, _verdicts(folder), str(SOURCE / "app" / "verdicts.py"))
    yield Target("evaluator answer", (json.dumps(ANSWER).encode(),), _answer, str(SOURCE / "evaluators"))
    yield Target("hook payload", tuple(map(lines, PAYLOADS)), _hook(folder), str(SOURCE / "agents"))
    chats = (lines(*SAYS), lines({"messages": SAYS}), b"user: hello\nassistant: hi\n")
    yield Target("chat", chats, _chat(folder), str(SOURCE / "app"))


PATTERNS = ("run/loop.yaml", "conversation/love_bombing.yaml", "combination/confused_state.yaml")
MORE: dict[str, Callable[[], tuple[bytes, ...]]] = {
    "conversations": lambda: (lines({"conversation_id": "t", "labels": {"submolt": "art"}, "turns": TALK}),),
    "forum": lambda: (lines(POST, REPLY), json.dumps([{**POST, "comments": [REPLY]}]).encode()),
    "messages": lambda: (lines({"author": "ann", "content": "hi", "created_at": at(1), "target": "bo"}),),
    "scored_messages": lambda: (lines(SCORED),),
    "csv": lambda: (CSV, CSV.replace(b",", b"\t"), CSV.replace(b",", b";")),
    "json": lambda: (json.dumps([EVENT, {**EVENT, "id": "e2"}], indent=1).encode(),),
    "jsonl": lambda: (lines(EVENT, {"id": 2, "at": at(2), "subject": "bo"}), lines({"subject": "ann"})),
    "parquet": lambda: tuple(_parquet()),
}


def _written(name: str) -> tuple[bytes, ...]:
    kinds = {"anthropic": "anthropic_messages", "langgraph": "langchain", "openinference": "otel"}
    found = []
    for path in sorted(WRITTEN.iterdir()):
        first = path.stem.split("_")[0]
        if name in (path.stem, first, kinds.get(first)) and path.stat().st_size < 20_000:
            found.append(path.read_bytes())
    return tuple(found)


def _parquet() -> Iterator[bytes]:
    import pyarrow as pa
    from pyarrow import parquet

    table = {
        "subject": ["ann", "bo"],
        "at": [NOW, NOW],
        "compassion": [0.5, None],
        "attributes": [{"a": 1}, None],
    }
    for compression in ("none", "gzip"):
        out = io.BytesIO()
        parquet.write_table(pa.table(table), out, compression=compression)
        yield out.getvalue()


# --- what must hold --------------------------------------------------------------------------


def check_faults(error: EthogramError, path: str, *, binary: bool = False) -> None:
    """Every fault names its file and its line and can be printed. Only a whole file has no line."""
    assert isinstance(error, BadInput), f"{type(error).__name__} is no BadInput"
    assert error.faults
    for fault in error.faults:
        str(fault).encode()
        json.dumps(fault.to_dict())
        assert fault.path == path, f"a fault names the file {fault.path!r}: {_message(fault)}"
        whole = binary or fault.message.startswith(WHOLE)
        assert fault.line >= 1 or whole, f"a fault has no line: {_message(fault)}"
        assert len(fault.message) < 2000, f"a fault is {len(fault.message)} characters long"


def _message(fault: Fault) -> str:
    return " ".join(fault.message.split()[:6])


def check_event(event: Event) -> None:
    """An event that can be stored, printed and compared, and is within the limits."""
    assert event.at.utcoffset() == timedelta(0)
    assert 0 <= event.seq < 2**63
    for name in (event.id, event.source, event.subject, event.kind):
        assert 0 < len(name) <= LIMITS.name, "a name is empty or too long"
    for name in (event.target, event.reply_to, event.thread, event.session):
        assert name is None or 0 < len(name) <= LIMITS.name, "a name is empty or too long"
    assert len(event.text or "") <= LIMITS.text
    assert len(event.attributes) <= LIMITS.attributes
    assert len(event.readings) <= LIMITS.readings
    for name, value in event.readings.items():
        assert 0 < len(name) <= LIMITS.name
        assert not isinstance(value, bool)
        assert len(value) <= LIMITS.name if isinstance(value, str) else math.isfinite(value)


def _adapter(name: str) -> Callable[[bytes], None]:
    adapter = registry.adapters.get(name)

    def run(data: bytes) -> None:
        adapter.recognises(data, "a")
        chosen, read.choose = read.choose, lambda head, name: adapter
        try:
            batch = read_events(["-"], stdin=io.BytesIO(data), skip_bad=True, limits=LIMITS)
            if batch.bad:
                check_faults(BadInput(batch.bad), "-", binary=name in BINARY)
        except EthogramError as error:
            check_faults(error, "-", binary=name in BINARY)
            return
        finally:
            read.choose = chosen
        for event in batch.events:
            check_event(event)
        written = [json.dumps(event.to_dict(), ensure_ascii=False, allow_nan=False) for event in batch.events]
        sources = {event.source for event in batch.events}
        if len(sources) == 1 and batch.timed:
            again = events_of(
                [json.loads(item.encode()) for item in written], source=sources.pop(), limits=LIMITS
            )
            assert again.events == batch.events, "events differ after a round trip"

    return run


def _file(path: Path, reader: Callable[[Path], object]) -> Callable[[bytes], None]:
    def run(data: bytes) -> None:
        path.write_bytes(data)
        try:
            reader(path)
        except EthogramError as error:
            check_faults(error, str(path))

    return run


def _pattern(folder: Path) -> Callable[[bytes], None]:
    vocabulary = load_vocabulary()

    def reader(path: Path) -> None:
        named = {"love_bombing": path.with_name("love_bombing.yaml"), "loop": path.with_name("loop.yaml")}
        data = path.read_bytes()
        path = next((own for name, own in named.items() if f"name: {name}".encode() in data), path)
        path.write_bytes(data)
        try:
            compile_patterns(read_pattern_file(path, vocabulary).patterns)
        except EthogramError as error:
            check_faults(error, str(path))

    return _file(folder / "confused_state.yaml", reader)


def _settings(path: Path) -> None:
    load_settings(path, environ={}, folder=str(path.parent / "none"))


def _mutes(path: Path) -> None:
    found = read_mutes(path)
    # What was read is written back with one entry more, and what people wrote stays.
    new = Mute(mute_id({"subject": "new"}), "fuzz", subject="new")
    add_mute(path, new)
    assert {mute.id for mute in read_mutes(path)} == {item.id for item in found} | {new.id}


def _verdicts(folder: Path) -> Callable[[bytes], None]:
    store = open_store(str(folder / "verdicts.db"), create=True)
    return _file(folder / "v.csv", lambda path: read_verdicts(str(path), store, Settings(), by="ann", at=NOW))


def _answer(data: bytes) -> None:
    text = "Well: it's the last day."
    checked = check_answer(data.decode("utf-8", "surrogateescape"), text)
    assert (checked.fault is None) == bool(checked.traits)
    assert all(0 <= value <= 1 for value in checked.traits.values())
    assert all(
        0 <= indicator.start < indicator.end <= len(text) and 0 <= indicator.confidence <= 1
        for indicator in checked.indicators
    )


def _hook(folder: Path) -> Callable[[bytes], None]:
    (folder / "project").mkdir()
    tell = in_process(state_db.opened(str(folder / "runs.sqlite")), str(folder / "project"))

    def run(data: bytes) -> None:
        try:
            payload = json.loads(data)
        except (ValueError, RecursionError):
            return  # what is no JSON is logged, and answered by nothing
        if isinstance(payload, dict):
            json.dumps(tell(payload)).encode()

    return run


def _chat(folder: Path) -> Callable[[bytes], None]:
    def run(data: bytes) -> None:
        (folder / "talk").write_bytes(data)
        for path, stdin in ((str(folder / "talk"), None), ("-", io.BytesIO(data))):
            try:
                for item in read_turns(path, stdin):
                    json.dumps([item.thread, item.subject, item.role, item.text], ensure_ascii=False).encode()
            except EthogramError as error:
                check_faults(error, path, binary=True)

    return run
