"""The doors of the product: the same events through each of them, and what each says of every detection.

All cases lie in one file, each in a source of its own: the examples that `ethogram demo --copy` writes, every
example of every shipped pattern, a crowd that posts one text, and the run of an agent.
"""

from __future__ import annotations

import io
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from ethogram import Watch, entry, read_events
from ethogram.agents.hook.replay import payloads
from ethogram.cli.main import main
from ethogram.models import Event
from ethogram.patterns.library import Library, load_patterns
from run_makers import Script
from service.conftest import running
from waiting import wait_until

MOMENT = datetime(2026, 4, 1, tzinfo=UTC)
"""After all events. An example with a moment of its own (`as_of`) is moved so that this is its moment."""
RUNS = ("demo.run", "run")
"""Cases with calls of tools, which a hook sees; most examples of run patterns have readings only."""
SPAM = (
    "Join our wonderful group of friends today and bring everybody you know with you, there is room for all"
)
FIELDS = ("id", "evidence", "severity", "explanation")

Line = dict[str, Any]
Record = Mapping[str, Any]


# --- cases ----------------------------------------------------------------------------------


class Cases(NamedTuple):
    """Files with the events of all cases, in order and in any order, and the patterns to look for."""

    folder: Path
    ordered: Path
    mixed: Path
    library: Library

    @property
    def names(self) -> list[str]:
        """The names of all shipped patterns, whatever their status."""
        return sorted(self.library.files)

    def of(self, *names: str) -> Path:
        """The events of the cases with these names, or of all examples of these patterns, in order."""
        lines = self.ordered.read_text().splitlines()
        cases = [json.loads(line)["source"] for line in lines]
        chosen = {case for case in cases if case in names or case.rpartition(".")[0] in names}
        some = [line for line, case in zip(lines, cases, strict=True) if case in chosen]
        return self._write(f"{names[0]}.jsonl", some)

    def half(self, number: int) -> Path:
        """Every second event, in any order."""
        return self._write(f"half-{number}.jsonl", self.mixed.read_text().splitlines()[number::2])

    def _write(self, name: str, lines: Iterable[str]) -> Path:
        path = self.folder / name
        path.write_text("\n".join(lines))
        return path


def examples(library: Library) -> Iterator[tuple[str, Event]]:
    """The events of every example with the name of its case, the pattern's with a number."""
    for file in sorted(library.files.values(), key=lambda file: file.name):
        for number, example in enumerate(file.examples, start=1):
            case = f"{file.name}.{number}"
            moved = timedelta(0) if example.as_of is None else MOMENT - example.as_of
            yield from ((case, replace(event, at=event.at + moved)) for event in example.events)


def write_cases(folder: Path) -> Cases:
    """Write the events of all cases."""
    library = load_patterns(any_status=True, examples=True)
    lines = [{**event.to_dict(), "source": case} for case, event in examples(library)]
    for record in told("demo", "--copy", str(folder / "examples"), "--json"):
        path = Path(record["path"])
        texts = path.read_text().splitlines()
        lines += [
            {**json.loads(text), "seq": seq, "source": f"demo.{path.stem}"} for seq, text in enumerate(texts)
        ]
    lines += crowd()
    lines += agent_run()

    lines.sort(key=lambda line: (datetime.fromisoformat(line["at"]), line["seq"], line["id"]))
    ordered, mixed = folder / "ordered.jsonl", folder / "mixed.jsonl"
    ordered.write_text("".join(json.dumps(line) + "\n" for line in lines))
    random.Random(37).shuffle(lines)
    mixed.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return Cases(folder, ordered, mixed, library)


def crowd() -> list[Line]:
    """Two hundred accounts post one text, each twice, one member presses, and others talk of other things."""
    rng, lines = random.Random(37), list[Line]()
    for seq in range(1200):
        topic = f"{rng.choice(['boats', 'bees', 'bricks', 'birds'])} number {rng.randrange(10_000)}"
        subject, text = f"reader{rng.randrange(50)}", f"Today I read about {topic} in the harbour."
        if seq % 3 == 0:
            subject, text = f"account{seq // 3 % 200}", f"{SPAM} {seq}"
        elif seq % 60 == 1:
            subject, text = "kim", ("Act now!", "You owe me.", "I see.", "You will regret it.")[seq // 60 % 4]
        at = datetime(2026, 2, 1, tzinfo=UTC) + timedelta(minutes=seq)
        lines.append(
            {
                "id": f"post-{seq}",
                "seq": seq,
                "at": at.isoformat(),
                "source": "crowd",
                "kind": "message",
                "subject": subject,
                "text": text,
            }
        )
    return lines


def agent_run() -> list[Line]:
    """A coding agent that calls a misspelt command again and again, and then finds its way."""
    script = Script(random.Random(37), style="result")
    script.at = datetime(2026, 3, 1, 9, tzinfo=UTC)
    script.event("message", {"role": "user"}, text="Fix the parser in src/parse.py.")
    script.read("src/parse.py", "def parse(text): ...")
    for _ in range(6):
        script.failing("bash", {"command": "pytst -x"}, "bash: pytst: command not found")
    script.edit("src/parse.py", "a", "b")
    script.run("pytest -x", "1 passed")
    return [{**event, "seq": seq, "source": "run"} for seq, event in enumerate(script.events)]


# --- rows -----------------------------------------------------------------------------------


class Row(NamedTuple):
    """What a door says of a detection; None where it says nothing of that."""

    case: str
    pattern: str
    who: tuple[str, str | None]
    """Subject and thread."""
    id: str | None
    evidence: Any
    severity: str
    explanation: str | None


Rows = Mapping[str, Row]
"""By the id of the detection."""


def told(*args: str) -> list[Record]:
    """The JSON records that a command prints."""
    out = io.StringIO()
    with redirect_stdout(out):
        code = main(args)
    assert code == 0, (args, code)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def rows_of(records: Iterable[Record]) -> Rows:
    """The detections among records."""
    return {
        record["id"]: Row(
            record["source"],
            record["pattern"],
            (record["subject"], record["thread"]),
            *(record[name] for name in FIELDS),
        )
        for record in records
        if record["record"] == "detection"
    }


def chosen(names: Iterable[str]) -> list[str]:
    """The options that choose patterns."""
    return [word for name in names for word in ("--patterns", name)]


# --- doors ----------------------------------------------------------------------------------


def analyzed(names: Iterable[str], as_of: datetime, *events: str | Path) -> Rows:
    """`ethogram analyze` of a file, or of what options name."""
    how = ("--json", "--as-of", as_of.isoformat(), *chosen(names))
    return rows_of(told("analyze", *map(str, events), *how))


def imported(path: Path, store: Path, *options: str) -> Path:
    """`ethogram store import` of a file."""
    told("store", "import", str(path), "--store", str(store), "--json", *options)
    return store


def swept(store: Path, names: Iterable[str], as_of: datetime) -> Rows:
    """What `ethogram sweep` prints."""
    return rows_of(
        told("sweep", "--store", str(store), "--json", "--as-of", as_of.isoformat(), *chosen(names))
    )


def stored(store: Path) -> Rows:
    """The detections that a store has."""
    return rows_of(told("store", "detections", "--store", str(store), "--json"))


def watched(path: Path, library: Library, moments: Sequence[datetime]) -> Iterator[Rows]:
    """What a `Watch` has said of each detection last, at each moment after all events."""
    watch, last = Watch(library), dict[str, Record]()
    for event in read_events([str(path)]).events:
        last |= {item.id: item.to_dict() for item in watch.observe(event)}
    for moment in moments:
        last |= {item.id: item.to_dict() for item in (*watch.flush(moment), *watch.open())}
        yield rows_of(last.values())


def served(path: Path, store: Path, names: Sequence[str], parts: int = 4) -> tuple[Rows, Rows]:
    """The detections that a service returns, and those in its store, once it has looked at every event.

    The lines are posted in some requests.
    """
    lines = path.read_text().splitlines()
    with running(store=str(store), keep_text=True, patterns=tuple(names)) as (_, client):
        for part in range(parts):
            post(client, lines[part::parts])
        # A sweep that was under way may have begun before the last event came; the next did not.
        for number in range(2):
            before = sweeps_done(client)
            post(client, [json.dumps({"subject": "nobody", "source": "end", "id": f"end-{number}"})])
            wait_for_sweep(client, before)
        by_api = rows_of(all_detections(client))
    return by_api, stored(store)


def post(client: httpx.Client, lines: Iterable[str]) -> None:
    response = client.post("/v1/events", content="\n".join(lines))
    assert response.status_code == 200, response.text


def wait_for_sweep(client: httpx.Client, before: int) -> None:
    """Return once more sweeps have ended than before."""

    def has_ended() -> bool:
        time.sleep(0.2)  # each look is work for the service
        return sweeps_done(client) > before

    wait_until(has_ended, f"sweep {before + 1} of the service")


def sweeps_done(client: httpx.Client) -> int:
    """How many sweeps of a service have ended, none of which may have failed."""
    counts = dict(
        line.rsplit(" ", 1) for line in client.get("/metrics").text.splitlines() if line[:1] not in ("", "#")
    )
    assert float(counts['ethogram_sweeps_total{outcome="failed"}']) == 0, "a sweep failed"
    return int(float(counts.get('ethogram_sweeps_total{outcome="done"}', 0)))


def all_detections(client: httpx.Client) -> Iterator[Record]:
    """The pages of /v1/detections."""
    offset, total = 0, 1
    while offset < total:
        page = client.get("/v1/detections", params={"limit": 200, "offset": offset}).json()
        yield from page["detections"]
        offset, total = offset + 200, page["total"]


# --- hook -----------------------------------------------------------------------------------


class Hook:
    """`ethogram hook`, installed in a project of its own."""

    def __init__(self, folder: Path) -> None:
        self._project, self._state = folder / "project", folder / "hook"
        self._project.mkdir()
        with self._inside(), redirect_stdout(io.StringIO()):
            assert main(["hook", "install", "claude-code"]) == 0

    @contextmanager
    def _inside(self) -> Iterator[pytest.MonkeyPatch]:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self._project)
            patch.setenv("ETHOGRAM_HOOK_DIR", str(self._state))
            patch.delenv("CLAUDE_PROJECT_DIR", raising=False)
            yield patch

    def watched(self) -> set[str]:
        """The patterns that the hook looks for."""
        with self._inside():
            (status,) = told("hook", "status", "--json")
        return set(status["watched"])

    def answer(self, path: Path) -> list[Record]:
        """What the hook says to an agent that goes through a run, as `hook report` lists it."""
        events = read_events([str(path)]).events
        with self._inside() as patch:
            for _, payload in payloads(events, str(self._project)):
                patch.setattr(sys, "argv", ["ethogram", "hook"])
                patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(payload).encode())))
                with redirect_stdout(io.StringIO()):
                    assert entry.main() == 0
            *messages, _ = told("hook", "report", "--json")
        sessions = {event.thread for event in events}
        return [message for message in messages if message["session"] in sessions]

    def replay(self, path: Path) -> tuple[list[Record], Record]:
        """What `hook replay` of a run says: the messages, and the counts."""
        with self._inside():
            *messages, counts = told("hook", "replay", str(path), "--json")
        return messages, counts


def message_rows(case: str, messages: Iterable[Record], reference: Rows) -> Rows:
    """The detections that messages of a hook are about; of several about one, the last."""
    ids = {(row.case, row.pattern, *row.who): name for name, row in reference.items()}
    rows: dict[str, Row] = {}
    for message in messages:
        who = (message["agent"].removeprefix("agent/"), message.get("session", message.get("run")))
        key = (case, message["pattern"], *who)
        name = ids.get(key, "/".join(map(str, key)))
        rows[name] = Row(case, message["pattern"], who, None, None, message["severity"], None)
    return rows


# --- differences ----------------------------------------------------------------------------


class Difference(NamedTuple):
    """Where a door does not say what `analyze` of the sorted events says.

    `what` is a field of FIELDS, "lacking" (`analyze` alone has the detection) or "extra" (the door alone).
    """

    door: str
    case: str
    pattern: str
    what: str


class Known(NamedTuple):
    """A cause of differences: which ones by globs, how many, and the reason."""

    doors: Sequence[str]
    case: str
    pattern: str
    what: Sequence[str]
    count: int
    reason: str

    def covers(self, difference: Difference) -> bool:
        return (
            difference.door in self.doors
            and fnmatchcase(difference.case, self.case)
            and fnmatchcase(difference.pattern, self.pattern)
            and difference.what in self.what
        )


def differences(door: str, reference: Rows, rows: Rows) -> list[Difference]:
    """All differences of a door."""
    found: list[Difference] = []
    for name in sorted(reference.keys() | rows.keys()):
        expected, row = reference.get(name), rows.get(name)
        if expected is None or row is None:
            some = expected or row
            assert some is not None
            what = ["extra" if expected is None else "lacking"]
        else:
            some, what = row, [field for field in FIELDS if getattr(row, field) != getattr(expected, field)]
        found += (Difference(door, some.case, some.pattern, field) for field in what)
    return found


def faults(found: Iterable[Difference], known: Sequence[Known]) -> list[str]:
    """What is wrong with a list of known differences, in sentences; [] where it is exact."""
    counts: Counter[int] = Counter()
    new: Counter[Difference] = Counter()
    for difference in found:
        entry_of = next((n for n, item in enumerate(known) if item.covers(difference)), None)
        if entry_of is None:
            new[difference] += 1
        else:
            counts[entry_of] += 1
    sentences = [f"not in the list: {number} of {difference}" for difference, number in sorted(new.items())]
    for number, item in enumerate(known):
        if not counts[number]:
            sentences.append(f"no longer differs, remove it from the list: {item.reason}")
        elif counts[number] != item.count:
            sentences.append(f"differs {counts[number]} times, not {item.count} times: {item.reason}")
    return sentences
