"""Files, folders, pipes and compressed files: what is read, in which order, and what is said of the rest."""

from __future__ import annotations

import gzip
import io
import os
from pathlib import Path

import pytest

from ethogram.errors import BadEvents
from ethogram.ingest import Limits, read_events


def subjects(batch):
    return [event.subject for event in batch.events]


def line(subject):
    return f'{{"subject": "{subject}"}}\n'


@pytest.fixture
def folder(tmp_path):
    """A folder of one event file for each name, whose subject is the name."""

    def make(*names):
        for name in names:
            path = tmp_path / "in" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(line(name))
        return tmp_path / "in"

    return make


def faults(*paths, **options):
    with pytest.raises(BadEvents) as caught:
        read_events(paths, **options)
    return caught.value.faults


def test_files_are_read_in_the_order_of_their_names_whatever_the_order_given(folder):
    below = folder("b.jsonl", "a.jsonl")
    batch = read_events([below / "b.jsonl", below / "a.jsonl"])
    assert subjects(batch) == ["a.jsonl", "b.jsonl"]
    assert [event.seq for event in batch.events] == [0, 1]
    assert batch.files == 2


def test_a_folder_is_all_files_below_it_but_hidden_ones(folder):
    below = folder("z.jsonl", "c/y.log", "c/d/x.jsonl", ".hidden.jsonl", ".git/w.jsonl")
    assert subjects(read_events([below])) == ["c/d/x.jsonl", "c/y.log", "z.jsonl"]
    assert subjects(read_events([str(below)])) == ["c/d/x.jsonl", "c/y.log", "z.jsonl"]


def test_in_a_folder_files_of_other_kinds_are_left_out_and_counted(folder):
    below = folder("a.jsonl")
    (below / "README.md").write_text("# Notes\n")
    (below / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    batch = read_events([below])
    assert subjects(batch) == ["a.jsonl"]
    assert batch.files == 1
    assert batch.skipped == {"files that are not events": 2}


def test_a_file_named_beside_its_folder_is_read_once(folder):
    below = folder("a.jsonl", "b.jsonl")
    (below / "link.jsonl").symlink_to(below / "a.jsonl")
    assert subjects(read_events([below, below / "a.jsonl"])) == ["a.jsonl", "b.jsonl"]


def test_a_file_of_no_known_format_is_told_if_it_is_named_beside_its_folder(folder):
    below = folder("a.jsonl")
    (below / "notes.txt").write_text("hello")
    assert faults(below, below / "notes.txt")[0].path.endswith("notes.txt")


def test_formats_may_be_mixed_in_one_source(folder):
    below = folder("b.jsonl")
    (below / "a.csv").write_text("subject\na\n")
    (below / "c.json").write_text('[{"subject": "c"}]')
    batch = read_events([below])
    assert subjects(batch) == ["a", "b.jsonl", "c"]
    assert [event.seq for event in batch.events] == [0, 1, 2]


def test_a_missing_path_is_an_error_even_where_bad_lines_are_skipped(tmp_path):
    (found,) = faults(tmp_path / "none.jsonl", skip_bad=True)
    assert str(found) == f"{tmp_path}/none.jsonl: no such file or folder"


def test_every_missing_path_is_told(tmp_path):
    assert [fault.path for fault in faults("no1", "no\0", "n" * 5000)] == ["no1", "no\0", "n" * 5000]


def test_a_file_of_no_known_format_says_which_are_known(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("hello\n")
    (found,) = faults(path)
    assert found.message.startswith("none of the known formats: ")
    for name in ("csv", "json", "jsonl", "parquet"):
        assert name in found.message


def test_utf_16_is_told_apart(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text(line("a"), encoding="utf-16")
    assert "UTF-16" in faults(path)[0].message


@pytest.mark.parametrize("content", [b"", b"\n\n  \n", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)])
def test_an_empty_file_is_no_events(content, tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_bytes(content)
    batch = read_events([path])
    assert (batch.events, batch.bad_count, batch.timed, batch.files) == ((), 0, True, 1)


def test_no_paths_and_an_empty_folder_are_no_events(tmp_path):
    assert read_events([]).events == ()
    assert read_events([tmp_path]).events == ()


def test_a_dash_is_standard_input_which_stays_open():
    stdin = io.BytesIO(line("a").encode())
    assert subjects(read_events(["-"], stdin=stdin)) == ["a"]
    assert not stdin.closed


def test_standard_input_is_the_process_s_own_unless_given(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"x")))
    assert faults("-")[0].path == "-"


def test_a_pipe_that_hands_over_pieces_is_read_whole():
    reading, writing = os.pipe()
    with open(writing, "wb") as end:
        end.write(line("a").encode() * 200)
    with open(reading, "rb", buffering=0) as stdin:
        assert len(read_events(["-"], stdin=stdin).events) == 200


def test_compressed_files_are_read_as_what_they_hold(tmp_path):
    path = tmp_path / "events"
    path.write_bytes(gzip.compress(line("a").encode()) + gzip.compress(line("b").encode()) + b"\0" * 512)
    assert subjects(read_events([path])) == ["a", "b"]
    assert subjects(read_events(["-"], stdin=io.BytesIO(path.read_bytes()))) == ["a", "b"]


def test_a_compressed_file_of_many_chunks_is_read_whole(tmp_path):
    path = tmp_path / "events.jsonl.gz"
    path.write_bytes(gzip.compress("".join(line(f"s{number}") for number in range(50_000)).encode()))
    batch = read_events([path])
    assert len(batch.events) == 50_000
    assert batch.events[-1].subject == "s49999"


def test_a_torn_compressed_file_keeps_its_whole_lines_where_asked(tmp_path):
    content = "".join(line(os.urandom(20).hex()) for _ in range(50_000)).encode()
    path = tmp_path / "events.jsonl.gz"
    path.write_bytes(gzip.compress(content)[:-1000])
    assert faults(path)[0].message == "the gzip file ends in the middle"
    batch = read_events([path], skip_bad=True)
    assert 10_000 < len(batch.events) < 50_000
    assert batch.bad_count == 1


def test_a_damaged_compressed_file_is_a_fault(tmp_path):
    packed = bytearray(gzip.compress(line("a").encode() * 1000))
    packed[20:30] = b"\xff" * 10
    path = tmp_path / "events.jsonl.gz"
    path.write_bytes(packed)
    assert faults(path)[0].message == "the gzip file is damaged"


def test_a_compressed_file_that_grows_too_large_is_stopped(tmp_path):
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(line("a").encode() * 100_000))
    (found,) = faults(path, limits=Limits(unpacked=500_000))
    assert "unpacks to more than 500,000 bytes" in found.message
    assert "limits: {unpacked: ...}" in found.message


def test_a_line_that_never_ends_is_one_bad_line(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"{" * 10_000_000 + b"\n" + line("a").encode())
    batch = read_events([path], skip_bad=True)
    assert subjects(batch) == ["a"]
    assert [fault.line for fault in batch.bad] == [1]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_a_file_that_may_not_be_read_is_a_fault(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text(line("a"))
    path.chmod(0)
    assert "Permission denied" in faults(path)[0].message


def test_a_pipe_that_breaks_is_a_fault():
    class Broken(io.BytesIO):
        def read(self, size=-1):
            raise OSError(5, "Input/output error")

    assert faults("-", stdin=Broken())[0].message == "cannot be read: Input/output error"


def test_a_file_name_that_is_no_text_can_still_be_printed(tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.jsonl")
    Path(path).write_text("{}")
    (found,) = faults(path)
    assert "\\xff.jsonl" in str(found)
    str(found).encode()


def test_a_named_pipe_in_a_folder_is_not_waited_for(folder):
    below = folder("a.jsonl")
    os.mkfifo(below / "pipe")
    assert subjects(read_events([below])) == ["a.jsonl"]


def test_progress_rises_to_the_size_of_all_files(folder):
    below = folder("a.jsonl")
    (below / "b.jsonl").write_text(line("b") * 20_000)
    total = sum(path.stat().st_size for path in below.iterdir())
    told = []
    read_events([below], progress=lambda done, of: told.append((done, of)))
    assert [of for _, of in told] == [total] * len(told)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1] == (total, total)
    assert len(told) >= 4


def test_a_path_alone_is_a_path_and_not_a_sequence_of_letters(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text('{"subject": "ann", "at": "2026-01-01T00:00:00Z"}\n')
    for given in (file, str(file), [file]):
        assert [event.subject for event in read_events(given).events] == ["ann"]
    with pytest.raises(BadEvents, match="no such file or folder"):
        read_events(str(tmp_path / "b.jsonl"))
