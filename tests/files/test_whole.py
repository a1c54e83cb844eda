"""Files are written whole or not at all: on a full disk the old one stays, and no draft is left."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pytest

from ethogram.cli.main import main
from ethogram.files import write_whole
from small import GONE, HOT, turns, write_events, write_patterns
from waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.skipif(os.name != "posix", reason="RLIMIT_FSIZE stands for a full disk")
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(folder, monkeypatch, capsys) -> Run:
    """A command that may write no file longer than so many bytes, as on a disk with no more room."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The cache of patterns would be cut short, too, and compiled code; neither is what is looked at.
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    monkeypatch.chdir(folder)

    def limited(*args: str, room: int) -> tuple[int, str]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
        try:
            return main(args), capsys.readouterr().err
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return limited


@pytest.fixture
def folder(tmp_path):
    write_events(tmp_path / "e.jsonl", turns("ann", [0.9, 0.9, 0.9], [1, 2, 3]))
    write_patterns(tmp_path / "patterns", HOT)
    (tmp_path / "chat.jsonl").write_text('{"role": "user", "content": "hello"}\n')
    said = {
        "subject": "ann",
        "at": "2026-01-01T00:00:00Z",
        "text": "Act now or you will regret it. Last chance!",
    }
    write_events(tmp_path / "said.jsonl", [said])
    (tmp_path / "out").mkdir()
    return tmp_path


PATTERN = "patterns/hot_for_long.yaml"
COMMANDS = {
    "analyze --html": ["analyze", "e.jsonl", "--patterns", PATTERN, "--html", "out/file"],
    "chat --html": ["chat", "chat.jsonl", "--html", "out/file"],
    "demo --copy": ["demo", "--copy", "out"],
    "patterns new": ["patterns", "new", "file", "--folder", "out"],
    "evaluate --record": ["evaluate", "said.jsonl", "--evaluator", "local", "--record", "out/file"],
}


def test_a_lock_that_does_not_fit_stays_as_it_was(folder, run):
    args = ["patterns", "lock", "--folder", "patterns"]
    assert run(*args, room=1_000_000)[0] == 0
    (lock,) = [path for path in (folder / "patterns").iterdir() if path.suffix != ".yaml"]
    before = lock.read_text()
    write_patterns(folder / "patterns", GONE)
    code, errors = run(*args, room=60)
    assert code == 2, errors
    assert lock.read_text() == before
    assert len(list((folder / "patterns").iterdir())) == 3


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("before", [None, "the page before"])
def test_a_full_disk_leaves_the_file_before_or_none(folder, run, name, before):
    target = folder / "out" / "file"
    if before is not None:
        target.write_text(before)
    code, errors = run(*COMMANDS[name], room=60)
    assert code == 2, errors
    assert "File too large" in errors
    assert "Traceback" not in errors
    assert [path.name for path in (folder / "out").iterdir()] == ([] if before is None else ["file"])
    assert before is None or target.read_text() == before


def test_with_room_the_same_commands_write_all_of_it(folder, run):
    for name, args in COMMANDS.items():
        code, errors = run(*args, room=100_000_000)
        assert code == 0, errors
        if "--html" in args:
            assert (folder / "out" / "file").read_text().rstrip().endswith("</html>"), name
    assert len(list((folder / "out").iterdir())) > 1


def lines_until_interrupted():
    yield "a line\n"
    raise KeyboardInterrupt


def test_an_interrupt_leaves_the_file_before(tmp_path):
    path = tmp_path / "file"
    path.write_text("before")
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, lines_until_interrupted())
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert path.read_text() == "before"


def test_a_link_stays_a_link_and_its_file_is_written(tmp_path):
    (tmp_path / "real").write_text("before")
    (tmp_path / "link").symlink_to("real")
    write_whole(tmp_path / "link", ["after é\n"])
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == "after é\n".encode()


def test_what_is_no_file_is_written_to_directly(tmp_path):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    write_whole(pipe, ["one\n", "two\n"])
    reader.join(PATIENCE_SECONDS)
    assert got == ["one\ntwo\n"]


def test_an_error_names_the_file_and_not_the_draft(tmp_path):
    with pytest.raises(OSError, match=r"page\.html"):
        write_whole(tmp_path / "no folder" / "page.html", ["x"])
