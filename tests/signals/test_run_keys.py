"""Errors and steps of runs have the same key where they are the same, at three strengths."""

from __future__ import annotations

import random

import pytest

from ethogram.models import Event
from ethogram.models.constants import NORMALIZATION
from ethogram.signals import Measurer, Options
from ethogram.signals.agent import errors, normalization
from ethogram.signals.agent.errors import error_line, normalized_error
from ethogram.signals.agent.normalization import cleaned, digest
from ethogram.signals.agent.operations import of_command, of_tool
from ethogram.signals.agent.paths import in_command
from waiting import ending


class Told:
    """Events of one run as they come, and the readings of some signals on them."""

    def __init__(self, *names: str, **options: object) -> None:
        self.measurer, self.count = Measurer(names, Options(**options)), 0

    def event(self, kind: str, text: str | None = None, **attributes: object) -> dict[str, object]:
        self.count += 1
        event = Event.sample(
            id=f"e{self.count}",
            seq=self.count,
            thread="r",
            subject="agent",
            kind=kind,
            text=text,
            attributes=attributes,
        )
        return dict(self.measurer.measure(event).readings)

    def step(self, command: str, result: str = "", **outcome: object) -> dict[str, object]:
        self.event(
            "action", tool="bash", arguments={"command": command}, command=command, call_id=f"c{self.count}"
        )
        return self.event("result", tool="bash", call_id=f"c{self.count - 1}", result=result, **outcome)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("cannot open src/a.py", "cannot open lib/deep/b.py"),
        ("a.py:12: bad token", "a.py:99: bad token"),
        ("object at 0x7f3a90 is gone", "object at 0x55d1c8 is gone"),
        ("job 4f2a9c1d77e failed", "job 99b1c2d3e4f failed"),
        ("at 2026-01-02T03:04:05Z no answer", "at 2026-02-03 10:11:12 no answer"),
    ],
)
def test_an_error_is_the_same_without_paths_numbers_and_ids(text: str, other: str):
    assert normalized_error(text) == normalized_error(other)


def test_what_an_error_names_counts_unless_normalised_strongly():
    item, other = "No module named 'amber'", "No module named 'birch'"
    assert normalized_error(item) != normalized_error(other)
    assert normalized_error(item, "high") == normalized_error(other, "high")
    assert normalized_error("line 3", "low") != normalized_error("line 4", "low")


@pytest.mark.parametrize("strength", NORMALIZATION)
def test_white_space_and_times_of_day_never_count(strength: str):
    assert digest("a  b\n12:00:01 done", strength) == digest("a b 13:59:59 done", strength)


def test_counts_in_a_result_count():
    assert digest("3 of 9 ready") != digest("4 of 9 ready")
    assert cleaned("page 3", "high") == cleaned("page 4", "high")


@pytest.mark.parametrize("strength", NORMALIZATION)
@pytest.mark.parametrize("unit", ["a", "0", "a1", "'", "/tmp/", "tmp1", "[", "0x", "é", "- ", "1.1 "])
def test_no_text_blows_up(strength: str, unit: str):
    for measure in (lambda text: digest(text, strength), lambda text: normalized_error(text, strength)):
        with ending(f"keys of 200,000 times {unit!r}"):
            measure(unit * 200_000)
    for measure in (of_command, in_command):
        with ending(f"a command of 200,000 times {unit!r}"):
            measure(unit * 200_000)


@pytest.mark.parametrize(
    ("command", "operation"),
    [
        ("cat a.py", "read"),
        ("sed -n '1,20p' a.py", "read"),
        ("sed -i 's/a/b/' a.py", "write"),
        ("cat <<'EOF' > a.py\nprint(1)\nEOF", "write"),
        ("echo x >> notes.txt", "write"),
        ("ls -l 2>/dev/null", "list"),
        ("cd src && grep -rn foo . | head -5", "search"),
        ("rm -rf build", "delete"),
        ("python -m pytest -q tests", "test"),
        ("make test", "test"),
        ("make", "run"),
        ("git diff HEAD~1", "read"),
        ("git commit -m 'x'", "write"),
        ("pip install requests", "write"),
        ("sleep 30 && gh run view", "wait"),
        ("curl -s https://example.org", "fetch"),
        ("python - <<'EOF'\nopen('a', 'w').write('x')\nEOF", "write"),
        ("python tool.py", "run"),
    ],
)
def test_what_a_command_does(command: str, operation: str):
    assert of_command(command) == operation


def test_what_a_tool_does_by_its_name():
    named = {
        "Edit": "write",
        "apply_patch": "write",
        "Read": "read",
        "Grep": "search",
        "delete_file": "delete",
    }
    assert {name: of_tool(name) for name in named} == named


def test_a_search_that_finds_nothing_is_no_error_and_a_missing_folder_is():
    record = Told("error_key")
    assert "error_key" not in record.step("grep -rn foo src", "", exit_code=1)
    assert "error_key" in record.step(
        "ls nowhere", "ls: cannot access 'nowhere': No such file or directory", exit_code=2
    )


def test_a_failing_test_is_an_error_once_it_fails_in_the_same_words():
    record = Told("error_key", "progress")
    first = record.step("pytest", "1 failed in 0.12s", exit_code=1)
    again = record.step("pytest", "1 failed in 0.34s", exit_code=1)
    other = record.step("pytest", "2 failed in 0.34s", exit_code=1)
    assert ["error_key" in item for item in (first, again, other)] == [False, True, False]
    assert [item["progress"] for item in (first, again, other)] == [1, 0, 1]


def test_an_error_in_the_words_of_a_result_is_one_where_the_source_does_not_tell():
    record = Told("error_key")
    assert record.step("deploy", "Error: no such target")["error_key"] == "error: no such target"
    assert "error_key" not in record.step("cat log.txt", "\n".join(["all is well"] * 200) + "\nError: old")
    assert "error_key" not in record.step("deploy", "Error: no such target", exit_code=0)


def test_thoughts_and_descriptions_do_not_make_another_step():
    record = Told("step_key")
    keys = set()
    for thought in ("once more", "let me try again"):
        record.event(
            "action", tool="Bash", arguments={"command": "ls", "description": thought}, thought=thought
        )
        keys.add(record.event("result", tool="Bash", result="a b")["step_key"])
    assert len(keys) == 1


@pytest.mark.parametrize("strength", NORMALIZATION)
def test_a_page_further_on_is_another_step_unless_numbers_are_taken_out(strength: str):
    record = Told("step_key", normalization=strength)
    keys = set()
    for page in (1, 2):
        record.event("action", tool="read", arguments={"path": "a", "page": page})
        keys.add(record.event("result", tool="read", result="...")["step_key"])
    assert len(keys) == (1 if strength == "high" else 2)


def test_results_find_their_calls_in_any_order():
    record = Told("operation")
    record.event("action", tool="edit_file", arguments={"path": "a"}, call_id="1")
    record.event("action", tool="read_file", arguments={"path": "b"}, call_id="2")
    assert record.event("result", call_id="2", result="x")["operation"] == "read"
    assert record.event("result", call_id="1", result="x")["operation"] == "write"


def test_changed_is_a_write_that_did_not_fail():
    record = Told("changed")
    assert record.step("sed -i 's/a/b/' a.py", exit_code=0)["changed"] == 1
    assert (
        record.step("sed -i 's/a/b/' a.py", "sed: can't read a.py: No such file or directory", exit_code=2)[
            "changed"
        ]
        == 0
    )
    assert record.step("cat a.py", "x", exit_code=0)["changed"] == 0


def test_a_module_that_is_not_found_is_no_trouble_of_the_network():
    record = Told("infrastructure")
    assert (
        record.step("python a.py", "ModuleNotFoundError: No module named 'x'", exit_code=1)["infrastructure"]
        == 0
    )
    assert record.step("npm ci", "npm error code ENOTFOUND", exit_code=1)["infrastructure"] == 1


def test_no_sign_keeps_a_rule_from_a_text_it_would_change():
    rng = random.Random(7)
    parts = (
        *(
            "12",
            "2026-11-15",
            "T10:20:30",
            "0x7ffe1a",
            "a1b2c3d",
            "0.31s",
            "3m12s",
            "4 µs",
            "3.2 ",
            "pid 77",
            "µs",
        ),
        *(
            "deadbe",
            "-",
            "4aaa",
            ":",
            " ",
            "é",
            "٣",
            "٣٣٣٣٣٣٣٣",
            "12345678",
            "line ",
            ".",
            "ab",
            "9",
            "f",
            "x",
            "m",
        ),
    )
    parts = (*parts, "/tmp/", "Tmp", "temp_", "%temp%\\", ".log", ".OUT", "\u212a", ".loc\u212a")
    parts = (*parts, "template", "$TMPDIR/", "\\Temp\\", "/var/folders/", "/dev/shm/", "/VAR/tmp/", "\u0130")
    for _ in range(20_000):
        text = "".join(rng.choices(parts, k=rng.randint(1, 7)))
        put = normalization._TEMPORARY.sub(normalization._temporary, text)
        put = normalization._LONG.sub("N", normalization._MEDIUM.sub(normalization._label, put))
        assert cleaned(text) == " ".join(normalization._PROCESS.sub(r"\1\2N", put).split()), text


@pytest.mark.parametrize(
    "text",
    [
        *(
            "Rate_Limit",
            "too many requests",
            "HTTP 429",
            "503 Service",
            "Internal Server Error",
            "bad gateway",
        ),
        *("service unavailable", "gateway timeout", "Overloaded", "quota exceeded", "insufficient_quota"),
        *(
            "resource exhausted",
            "connection was reset",
            "ECONNREFUSED",
            "ETIMEDOUT",
            "ENOTFOUND",
            "EAI_AGAIN",
        ),
        *("Could not resolve host", "Name or service not known", "Temporary failure in name resolution"),
        *("Network is unreachable", "no route to host", "certificate verify failed", "TLS handshake"),
        *("SSL: error", "No space left on device", "Disk quota", "read timed out", "request timed out"),
        *("connection timeout", "max retries exceeded", "remote end closed", "network error", "fetch failed"),
        *("try again later", "temporarily unavailable", "networ\u212a error"),
    ],
)
def test_trouble_outside_is_seen_in_all_its_wordings(text: str):
    assert errors._INFRASTRUCTURE.search(text)
    assert errors._search(errors._INFRASTRUCTURE, errors._INFRASTRUCTURE_SIGNS, f"é {text}")


@pytest.mark.parametrize(
    "text",
    [
        "FATAL", "error", "panic: x", "failed", "Failure", "invalid", "cannot", "can't", "unable",
        "x: Command not found", "no such file or directory", "Permission denied", "is not recognized as",
        "No matches were found", "does not exist", "did not appear", "not found", "is not defined",
        "Is a directory", "Not a directory",
    ],
)  # fmt: skip
def test_a_line_that_states_an_error_has_a_sign_of_it(text: str):
    assert errors._search(errors._ERROR_LINE, errors._ERROR_LINE_SIGNS, text)


@pytest.mark.parametrize(
    "text", ["BUILD FAILURE", "Compilation error", "syntax error(s) were", "3 Failing", "errors: 2"]
)
def test_a_broken_build_is_seen_in_all_its_wordings(text: str):
    assert errors._broken(text)


def test_a_label_alone_is_not_the_error() -> None:
    """Two different faults under the heading ERROR: are two errors."""
    assert error_line("ERROR:\nNo replacement was performed, old text not found in a.py") == (
        "No replacement was performed, old text not found in a.py"
    )
    assert error_line("ERROR:\nThe path b.py does not exist") == "The path b.py does not exist"
