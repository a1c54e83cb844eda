"""The name of a file decides where its content does not clearly say another format."""

from __future__ import annotations

import gzip
import io
import os

import pytest

from ethogram.app.importing import Options, import_events
from ethogram.errors import BadEvents
from ethogram.ingest import read_events
from ethogram.models import EPOCH
from ethogram.store import open_store

GOOD = b'{"subject": "a"}\n{"subject": "b"}\n'
BLANKS = b" \n" * 150_000


def subjects(batch):
    return [event.subject for event in batch.events]


def faults(*paths):
    with pytest.raises(BadEvents) as caught:
        read_events(paths)
    return caught.value.faults


@pytest.fixture
def file(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


@pytest.mark.parametrize("name", ["f.jsonl", "F.NDJSON", "f.jsonl.gz", "f.ndjson.gz", "f", "f.log"])
def test_a_first_line_that_is_no_json_is_one_bad_line(name, file):
    path = file(name, b"oops\n" + GOOD + b"more\n")
    assert [(fault.line, fault.column, fault.message[:8]) for fault in faults(path)] == [
        (1, 1, "not JSON"),
        (4, 1, "not JSON"),
    ]
    assert subjects(read_events([path], skip_bad=True)) == ["a", "b"]


def test_standard_input_is_looked_at_beyond_its_first_line():
    batch = read_events(["-"], stdin=io.BytesIO(b"oops\n" + GOOD), skip_bad=True)
    assert subjects(batch) == ["a", "b"]


def test_a_list_on_the_first_line_of_json_lines_is_a_bad_line(file):
    path = file("f.jsonl", b"[1]\n" + GOOD)
    (found,) = faults(path)
    assert (found.line, found.message) == (1, "an event is an object {...}, not a list")
    assert subjects(read_events([path], skip_bad=True)) == ["a", "b"]
    assert faults(file("g.jsonl", b"[1]\n"))[0].line == 1


@pytest.mark.parametrize("name", ["f.json", "f.json.gz", "f"])
def test_what_begins_with_a_bracket_is_an_array_under_any_other_name(name, file):
    assert subjects(read_events([file(name, b'[\n{"subject": "a"}]')])) == ["a"]


@pytest.mark.parametrize("name", ["f.jsonl", "f.json", "f.parquet", "f.csv"])
@pytest.mark.parametrize("content", [GOOD, b"subject\na\nb\n"])
def test_content_that_clearly_says_another_format_decides(name, content, file):
    assert subjects(read_events([file(name, content)])) == ["a", "b"]


@pytest.mark.parametrize("name", ["f.jsonl", "f.json", "f.csv", "f.tsv", "f.parquet", "f.jsonl.gz"])
@pytest.mark.parametrize("content", [b"oops\n", b"\x89PNG\r\n\x1a\n\0", "{}".encode("utf-16")])
def test_an_unreadable_file_does_not_stop_its_folder_and_is_named(name, content, file, tmp_path_factory):
    path = file(name, content)
    file("good.txt", GOOD)
    batch = read_events([path.parent])
    assert subjects(batch) == ["a", "b"]
    assert batch.skipped == {"files that are not events": 1}
    assert batch.not_events[0].partition(" (")[0] == str(path)
    url = f"sqlite:///{tmp_path_factory.mktemp('store')}/s.db"
    with open_store(url, create=True) as store:
        done = import_events(store, [path.parent], at=EPOCH, options=Options(source="s"))
    assert (done.added, done.not_events) == (2, batch.not_events)


def test_what_looks_like_a_chat_with_times_is_skipped_in_a_folder(file):
    path = file("times.txt", b"[09:12:04] Customer: hello\n[09:12:09] Agent: hi\n")
    file("good.txt", GOOD)
    batch = read_events([path.parent])
    assert (subjects(batch), batch.not_events) == (["a", "b"], (str(path),))


def test_events_of_a_folder_are_never_dropped(tmp_path):
    torn, broken = tmp_path / "f.jsonl.gz", tmp_path / "g.jsonl"
    torn.write_bytes(gzip.compress(b"".join(b'{"subject": "%d"}\n' % n for n in range(9_000)))[:-50])
    broken.write_bytes(b'{"subject": "a", oops}\n')
    assert [fault.path for fault in faults(tmp_path)] == [str(torn), str(broken)]


@pytest.mark.parametrize("name", ["f.jsonl", "f.json", "f.csv"])
def test_a_binary_file_is_said_once_to_be_no_text(name, file):
    (fault,) = faults(file(name, b"\x89PNG\r\n\x1a\n\0" + b"\xff\n" * 100))
    assert fault.message.startswith("not text")


@pytest.mark.parametrize("name", ["notes.md", "picture", "setup.py"])
def test_other_files_of_a_folder_are_skipped_and_named(name, file):
    content = b'\0\n{"\n' if name == "picture" else b"# words\n{\n"
    path = file(name, content)
    batch = read_events([path.parent])
    assert batch.skipped == {"files that are not events": 1}
    assert batch.not_events == (str(path),)


def test_only_the_first_few_skipped_files_are_named(file):
    for number in range(7):
        path = file(f"{number}.txt", b"hello")
    batch = read_events([path.parent])
    assert batch.skipped == {"files that are not events": 7}
    assert [name[-5:] for name in batch.not_events] == [f"{number}.txt" for number in range(5)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("f.jsonl", GOOD),
        ("f.json", b'[{"subject": "a"}, {"subject": "b"}]'),
        ("f.csv", b"x;subject\n1;a\n2;b\n"),
        ("f.jsonl.gz", GOOD),
    ],
)
def test_any_number_of_blank_lines_may_come_first(name, content, file):
    assert subjects(read_events([file(name, BLANKS + content)])) == ["a", "b"]
    assert subjects(read_events([file(name, BLANKS)])) == []


@pytest.mark.parametrize("name", ["f.jsonl.gz", "f.csv.gz"])
def test_a_small_torn_file_keeps_its_whole_lines_and_says_where_it_stopped(name, tmp_path):
    rows = [os.urandom(8).hex() for _ in range(500)]
    texts = ["subject", *rows] if name == "f.csv.gz" else [f'{{"subject": "{row}"}}' for row in rows]
    path = tmp_path / name
    path.write_bytes(gzip.compress("\n".join(texts).encode())[:-1500])
    (found,) = faults(path)
    batch = read_events([path], skip_bad=True)
    kept = len(batch.events)
    assert found.message == "the gzip file ends in the middle"
    assert 100 < kept < 500
    assert found.line == kept + (2 if name == "f.csv.gz" else 1)
    assert subjects(batch) == rows[:kept]


def test_an_object_spread_over_lines_is_one_fault_with_a_hint(file):
    spread = b'{\n  "subject": "a",\n  "readings": {\n    "x": 1\n  }\n}\n'
    path = file("f.json", spread + GOOD + spread)
    assert [(fault.line, "one event per line" in fault.message) for fault in faults(path)] == [
        (1, True),
        (9, True),
    ]
    assert subjects(read_events([path], skip_bad=True)) == ["a", "b"]


def test_a_lone_brace_does_not_swallow_events(file):
    assert subjects(read_events([file("f.jsonl", b"{\n" + GOOD)], skip_bad=True)) == ["a", "b"]
