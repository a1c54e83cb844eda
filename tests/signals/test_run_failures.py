"""What counts as a failure of a step, how it is quoted, and what is read from command lines beside it."""

from __future__ import annotations

import pytest

from ethogram.models import Event
from ethogram.signals import Measurer, Options
from ethogram.signals.agent.errors import failure_line, is_report, telling_line
from ethogram.signals.agent.operations import of_command, operation_of, operations_of
from ethogram.signals.agent.paths import in_command
from ethogram.signals.agent.shell_parser import simple_commands
from ethogram.signals.agent.step import Step, read_step

REFUSED = "Your proposed edit has introduced new syntax error(s). Please read this error message carefully."


def step_of(tool: str, **told: object) -> Step:
    step = read_step(Event.sample(kind="action", attributes={"tool": tool, **told}))
    assert step is not None
    return step


def line_of(tool: str, **told: object) -> str | None:
    step = step_of(tool, **told)
    return failure_line(step, operation_of(step))


def readings(*steps: dict[str, object], signal: str) -> list[object]:
    measurer = Measurer([signal], Options())
    found = []
    for number, step in enumerate(steps, 1):
        event = Event.sample(id=f"e{number}", seq=number, thread="r", kind="action", attributes=step)
        found.append(measurer.measure(event).readings.get(signal))
    return found


@pytest.mark.parametrize(
    "echo",
    [
        'The file a.py has been updated.\n   1\tif x:\n   2\t    raise RuntimeError("compilation failed")',
        "The file log.md has been updated.\nTraceback (most recent call last):\nValueError: bad",
        'Updated a.json:\n{"error": "as an example"}',
        "Updated test.txt\nsummary:\n  3 failed",
    ],
)
def test_what_an_editor_shows_of_a_file_is_no_failure(echo: str):
    assert line_of("Edit", path="a.py", result=echo) is None


@pytest.mark.parametrize(
    "said",
    [
        "Error: old_string not found",
        '{"success": false, "why": "locked"}',
        "patch failed: a.py:12\nerror: a.py: patch does not apply",
        "The result is:\n Command write_fix returned: Error: no such line",
    ],
)
def test_what_an_editor_says_of_itself_is_one(said: str):
    assert line_of("Edit", path="a.py", result=said) is not None


def test_an_editor_that_runs_the_tests_tells_how_they_went():
    said = "Lines written.\nThere are 2 failing test cases:\njava.lang.RuntimeException: 0"
    assert line_of("write_fix", path="a", result=said) == "java.lang.RuntimeException: 0"
    assert line_of("write_fix", path="a", result="Lines written.\nThere are 0 failing test cases") is None


def test_a_traceback_in_the_shell_is_a_failure_whatever_it_writes():
    command, trace = "python - <<'EOF'\nopen('a', 'w')\nEOF", "Traceback (most recent call last):\nOSError: x"
    assert line_of("bash", command=command, result=trace) == "OSError: x"


def test_a_line_of_a_listing_is_no_error_even_if_the_source_says_so():
    listing = "[File: a.py]\n7:def f():\n8:    print('error: x')\n9:    return"
    assert line_of("edit", command="edit 7:8", error="8:    print('error: x')", result=listing) is None
    alone = "8: error: x"
    assert line_of("edit", command="edit 7:8", error=alone, result=alone) == alone
    names = "Reader.java\nReadException.java\nWriter.java"
    assert line_of("ls", command="ls", error="ReadException.java", result=names) is None


def test_the_particulars_below_a_general_sentence_are_the_error():
    whole = f"{REFUSED}\n\nERRORS:\n- E999 IndentationError: unexpected indent\n- F821 undefined name 'a'"
    assert telling_line(whole) == "E999 IndentationError: unexpected indent"
    assert line_of("edit", error=REFUSED, result=whole) == "E999 IndentationError: unexpected indent"
    assert line_of("edit", error=REFUSED, result=REFUSED) == REFUSED


@pytest.mark.parametrize(
    "line",
    [
        "src/a.ts(3,5): error TS2304: Cannot find name 'b'.",
        "C:\\a\\B.cs(3,5): error CS0103: The name 'c' does not exist",
        "error[E0425]: cannot find value `x` in this scope",
        "a.py:3:1: F821 undefined name 'x'",
    ],
)
def test_a_line_with_a_code_is_preferred(line: str):
    assert telling_line(f"The build failed with errors, see below.\n{line}\nDone.") == line


def test_of_a_bare_code_the_result_tells_the_rest():
    said = "Please give EXACTLY ONE action.\n\nPlease look at the example."
    assert (
        line_of("bash", error="format_error", result=said) == "format_error: Please give EXACTLY ONE action."
    )
    assert line_of("bash", error="format_error") == "format_error"
    assert line_of("bash", error="ERROR:", result="ERROR:\nThe file exists.") == "The file exists."
    assert line_of("bash", error="exit 1", result="ok\nrmdir: failed to remove 'a'") == (
        "rmdir: failed to remove 'a'"
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Usage: edit <start_line>:<end_line>", "Usage: edit <start_line>:<end_line>"),
        ("/bin/bash: line 1: x: command not found", "/bin/bash: line 1: x: command not found"),
        ("'a' is not defined", "'a' is not defined"),
        ("<tool_use_error>File not found</tool_use_error>", "File not found"),
        ("-bash: x: command not found", "-bash: x: command not found"),
        ("a.py:3: DeprecationWarning: old\nDeprecationWarning: b is old\nKeyError: 'c'", "KeyError: 'c'"),
        ("\x1b[31mError: red\x1b[0m", "Error: red"),
    ],
)
def test_an_error_is_quoted_as_it_stands_but_for_what_wraps_it(text: str, line: str):
    assert telling_line(text) == line


@pytest.mark.parametrize(
    ("outcome", "nothing"),
    [
        ({"exit_code": 1}, True),
        ({"exit_code": 1, "error": "exit 1", "result": "a.py:3: found before"}, True),
        ({"error": "No matches found"}, True),
        ({"error": "No files were found for *.kt"}, True),
        ({"error": "format_error", "result": "Give exactly one action."}, False),
        ({"error": "Directory src not found"}, False),
        ({"exit_code": 2, "result": "grep: Unmatched [ or [^"}, False),
        ({"exit_code": 2, "result": "grep: a: No such file or directory"}, False),
    ],
)
def test_a_search_that_finds_nothing_is_told_from_one_that_is_refused(
    outcome: dict[str, object], nothing: bool
):
    assert is_report(step_of("Grep", **outcome), "search") is nothing


def test_a_refused_search_is_an_error_once_it_is_refused_in_the_same_words():
    refused = {"tool": "Grep", "arguments": {"pattern": "x"}, "error": "Directory src not found"}
    empty = {"tool": "Grep", "arguments": {"pattern": "x"}, "error": "No matches found"}
    assert readings(refused, refused, refused, signal="error_key") == [None, *["directory src not found"] * 2]
    assert readings(empty, empty, empty, signal="error_key") == [None] * 3


def test_thoughts_are_no_steps_unless_they_come_again():
    item, other = ({"tool": "think", "arguments": {"thought": name}, "result": ""} for name in ("a", "b"))
    assert readings(item, other, signal="step_key") == [None, None]
    first, again, third = readings(item, item, item, signal="step_key")
    assert first is None
    assert again == third is not None


def test_what_only_tells_why_is_what_is_done_where_there_is_nothing_else():
    item, other = (
        {"tool": "hand_over", "arguments": {"summary": name}, "result": "ok"} for name in ("a", "b")
    )
    assert len(set(readings(item, other, signal="step_key"))) == 2


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("cp a.py b.py", (("b.py", 1), ("a.py", 0))),
        ("mv a.py b.py", (("b.py", 1), ("a.py", 1))),
        ("cp -t out a.py b.py", (("out", 1), ("a.py", 0), ("b.py", 0))),
        ("cp 1.a 2.a 3.a 4.a 5.a 6.a 7.a out/", (("out", 1), *((f"{n}.a", 0) for n in range(1, 6)))),
    ],
)
def test_what_a_copy_writes_comes_first(command: str, paths: tuple[tuple[str, int], ...]):
    assert in_command(command) == paths


def test_to_copy_from_a_system_file_is_to_read_it():
    told = [{"tool": "bash", "command": name} for name in ("cp /etc/hosts.bak x", "cp x /etc/hosts")]
    assert readings(*told, signal="critical_path") == [0.0, 1.0]


@pytest.mark.parametrize(
    "command",
    [
        *("gh run view 7", "gh run watch", "gh run list -L 3", "gh pr checks 7", "kubectl get pods"),
        *("kubectl -n shop rollout status deploy/web", "docker ps -a", "docker compose -f a.yml ps"),
        *("systemctl status nginx", "aws ec2 describe-instances", "gcloud run services describe web"),
        *("az vm show -n a", "squeue -u me", "nvidia-smi", "ps aux | grep train", "jobs"),
    ],
)
def test_to_ask_for_a_status_is_to_wait(command: str):
    assert of_command(command) == "wait"


@pytest.mark.parametrize(
    ("command", "operation"),
    [
        ("git status", "read"),
        ("gh run view 7 --log-failed", "run"),
        ("kubectl apply -f a.yml", "run"),
        ("./start.sh && docker ps", "run"),
        ("kubectl get cm a -o yaml > a.yml", "write"),
        ("rm -r a && ps", "delete"),
    ],
)
def test_what_else_is_done_is_not_waiting(command: str, operation: str):
    assert of_command(command) == operation


def test_every_line_of_a_command_is_read():
    assert set(operations_of(step_of("cd..", command="cd..\nls -F"))) == {"run", "list"}
    assert set(operations_of(step_of("bash", command="cd ..\nls -F"))) == {"other", "list"}
    commands = simple_commands("# don't stop\ncat a \\\n  b\nrm 'c'")
    assert [(command.program, command.words) for command in commands] == [("cat", ("a", "b")), ("rm", ("c",))]


def test_a_program_handed_to_a_tool_is_no_command_line():
    assert operations_of(step_of("python", command="x = 1\nfind = 2\nfind")) == ("run",)
