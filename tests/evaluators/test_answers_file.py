"""The file of kept answers: only what this user wrote is believed, and only in a file of their own."""

from __future__ import annotations

import os
import sqlite3
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ethogram.errors import BadUsage
from ethogram.evaluators import response_cache
from ethogram.evaluators.base import Evaluation, Usage
from ethogram.evaluators.response_cache import SCHEMA, Answers
from servers import NOT_ROOT

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ANSWER = Evaluation({"manipulation": 0.9}, (), "scripted:one@1", 3, 0.01, Usage(), {})


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> Path:
    """A state folder of this test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def path(tmp_path) -> Path:
    """A file with three answers and a batch under way."""
    made = tmp_path / "cache" / "answers.sqlite"
    answers = Answers(made)
    for key in ("a", "b", "c"):
        answers.put(key, ANSWER, NOW)
    answers.add_job("job_1", ANSWER.scorer, ["a", "b"], NOW)
    answers.close()
    return made


def change(path: Path, statement: str) -> None:
    with sqlite3.connect(path) as raw:
        assert raw.execute(statement).rowcount > 0
    raw.close()


def test_own_answers_are_found_again_by_the_next_process(path):
    answers = Answers(path)
    answer = answers.get("a")
    assert answer is not None
    assert answer.traits == {"manipulation": 0.9}
    assert list(answers.jobs(ANSWER.scorer)) == [("job_1", ["a", "b"])]
    assert answers.untrusted == set()
    answers.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE answers SET answer = replace(answer, '0.9', '0.0') WHERE key = 'a'",
        "UPDATE answers SET scorer = 'other:model@1' WHERE key = 'a'",
        "UPDATE answers SET tag = NULL WHERE key = 'a'",
        "UPDATE answers SET tag = 'text' WHERE key = 'a'",
        "UPDATE answers SET answer = x'00' WHERE key = 'a'",
        # The row of the other question, tag and all, under another key.
        "UPDATE answers SET key = 'z' WHERE key = 'a'",
    ],
)
def test_an_answer_that_was_changed_or_planted_counts_as_absent(path, statement):
    change(path, statement)
    answers = Answers(path)
    key = "z" if "'z'" in statement else "a"
    assert answers.get(key) is None
    assert answers.get(key) is None
    assert answers.untrusted == {key}
    assert answers.get("b") is not None
    answers.put(key, ANSWER, NOW)
    assert answers.get(key) == ANSWER
    answers.close()


def test_a_batch_that_was_planted_is_not_fetched(path):
    change(path, "UPDATE jobs SET keys = '[\"c\"]'")
    answers = Answers(path)
    assert list(answers.jobs(ANSWER.scorer)) == []
    assert answers.untrusted == {"job_1"}
    answers.close()


def test_answers_of_another_users_key_are_not_believed(path, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
    answers = Answers(path)
    assert [answers.get(key) for key in "abc"] == [None, None, None]
    assert answers.untrusted == {"a", "b", "c"}
    answers.close()


def test_an_older_file_is_upgraded_with_its_answers_and_a_newer_one_refused(path, monkeypatch):
    newer = SCHEMA._replace(steps=(*SCHEMA.steps, "ALTER TABLE answers ADD COLUMN mood TEXT;\n"))
    with monkeypatch.context() as tomorrow:
        tomorrow.setattr(response_cache, "SCHEMA", newer)
        answers = Answers(path)
        assert answers.get("a") == ANSWER
        answers.close()
    with pytest.raises(BadUsage, match="a newer one wrote it"):
        Answers(path)


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_the_file_its_folder_and_the_key_are_the_owners_alone(path, home):
    answers = Answers(path)
    answers.put("d", ANSWER, NOW)
    modes = {item.name: stat.S_IMODE(item.stat().st_mode) for item in path.parent.iterdir()}
    assert set(modes) == {"answers.sqlite", "answers.sqlite-wal", "answers.sqlite-shm"}
    assert set(modes.values()) == {0o600}
    answers.close()
    key = home / "ethogram" / "answers.key"
    folders = (path.parent, home, key.parent)
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in folders] == [0o700, 0o700, 0o700]
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_a_file_that_others_may_write_to_is_refused(path):
    path.chmod(0o620)
    with pytest.raises(BadUsage, match="may be written by others: chmod 600"):
        Answers(path)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason=NOT_ROOT)
def test_a_file_of_another_user_is_refused(path):
    os.chown(path, 12345, -1)
    with pytest.raises(BadUsage, match="belongs to another user"):
        Answers(path)


def test_a_key_that_others_may_read_is_refused(path, home):
    (home / "ethogram" / "answers.key").chmod(0o644)
    with pytest.raises(BadUsage, match="can be read by others"):
        Answers(path)
