"""Nudges: what repeats with its true count, what was not tried, and never a secret."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ethogram import RunGuard
from ethogram.agents.messages import (
    QUOTES,
    UNTRIED,
    Situation,
    agent_message,
    describe,
    untried,
    user_message,
)

WORDS = dict(UNTRIED)
BOTH = ("nudge", "remind", "ask", "stop")


def step(n: int, key: str, operation: str = "run", error: str = "", **more: Any) -> dict[str, Any]:
    """What is remembered of a step."""
    return {
        "n": n,
        "key": key,
        "call": key,
        "tool": "bash",
        "shown": f"bash: {key}",
        "operations": [operation],
        "error": error,
        "error_key": f"error of {error}" if error else "",
        "path": "src/a.py",
        "path_key": "a",
        "progress": False,
        "outside": False,
        **more,
    }


def situation(*recent: dict[str, Any], keys: tuple[str, ...] = (), **more: Any) -> Situation:
    used = more.pop("used", (*WORDS, "run", "write"))
    return Situation("A round of steps", "Try something else.", keys, recent, used=used, **more)


FAILED = [step(n, "make", error="no rule") for n in range(1, 4)]


def test_an_error_is_named_with_its_count_and_where_it_came_from():
    text = agent_message("nudge", situation(*FAILED, keys=("error of no rule",)))
    assert 'Ran "bash: make" 3 times in a row with the same error: "no rule".' in text


def test_only_the_same_error_is_counted_however_many_there_were():
    others = [step(4, "ls", "list"), step(5, "cc", error="syntax"), step(6, "make", error="no rule")]
    text = describe(situation(*FAILED, *others, keys=("error of no rule",)))
    assert text == 'Ran "bash: make" 4 times in the last 6 steps with the same error: "no rule".'


def test_an_error_of_two_commands_names_both_with_their_counts():
    text = describe(situation(*FAILED, step(4, "cc", error="no rule"), keys=("error of no rule",)))
    assert (
        text == 'Met the same error 4 times in a row: "no rule", from "bash: make" (3 times) and "bash: cc".'
    )


def test_steps_that_repeat_are_named_each_with_its_count():
    round_of = [step(n, "ab"[n % 2]) for n in range(6)]
    text = describe(situation(*round_of, step(6, "other"), keys=("a", "b")))
    assert text == 'Repeated 2 steps with the same results: "bash: a" (3 times), "bash: b" (3 times).'


def test_one_step_that_repeats_is_named_with_its_count_and_whether_it_was_in_a_row():
    again = [step(n, "pytest -x") for n in range(1, 21)]
    text = 'Ran "bash: pytest -x" 20 times in a row with the same result.'
    assert describe(situation(*again, keys=("pytest -x",))) == text
    apart = [*again[:2], step(3, "ls"), step(4, "pytest -x")]
    text = 'Ran "bash: pytest -x" 3 times in the last 4 steps with the same result.'
    assert describe(situation(*apart, keys=("pytest -x",))) == text


def test_words_that_repeat_are_said_and_not_run():
    words = [step(n, "I am done", tool="", shown="I am done") for n in (1, 1, 1)]
    assert describe(situation(*words, keys=("I am done",))) == 'Said "I am done" 3 times in a row.'


def test_what_is_no_repetition_is_named_by_its_title():
    assert describe(situation(step(1, "a"))).endswith("A round of steps.")


@pytest.mark.parametrize("operation", WORDS)
def test_what_was_done_since_it_began_is_not_called_untried(operation: str):
    recent = [*FAILED[:2], step(3, "look", operation), step(4, "make", error="no rule")]
    text = agent_message("nudge", situation(*recent, keys=("error of no rule",)))
    assert WORDS[operation] not in text
    assert "Since it began you have not" in text


def test_what_was_done_before_it_began_does_not_count():
    recent = [step(1, "look", "read"), *(step(n, "make", error="no rule") for n in range(2, 5))]
    assert WORDS["read"] in untried(situation(*recent, keys=("error of no rule",)))


def test_a_command_line_that_does_several_things_has_tried_them_all():
    done = step(4, "cat a | grep b && make test", "test", operations=["read", "search", "test"])
    left = untried(situation(*FAILED, done, keys=("error of no rule",)))
    assert not {WORDS["read"], WORDS["search"], WORDS["test"]} & set(left)


def test_where_the_beginning_is_forgotten_nothing_is_claimed_about_it():
    recent = [step(n, "make", error="no rule") for n in range(41, 71)]
    text = agent_message("nudge", situation(*recent, keys=("error of no rule",)))
    assert "Since it began" not in text
    assert "In the last 30 steps you have not" in text


def test_where_everything_was_tried_nothing_is_called_untried():
    done = [step(n, name, name) for n, name in enumerate(WORDS, start=4)]
    text = agent_message(
        "nudge", situation(*FAILED, *done, step(20, "make", error="no rule"), keys=("error of no rule",))
    )
    assert "you have not" not in text
    assert text.endswith(f"try another way. {QUOTES}")


def test_what_this_run_has_no_tool_for_is_not_called_untried():
    assert untried(situation(*FAILED, keys=("error of no rule",), used=("run", "search"))) == [
        WORDS["search"]
    ]


def test_a_file_is_not_spoken_of_where_none_is_named():
    recent = [step(n, "book", error="no seats", path="", path_key="") for n in range(3)]
    assert WORDS["read"] not in untried(situation(*recent, keys=("error of no seats",)))


@pytest.mark.parametrize(
    "error",
    [
        "got an unexpected keyword argument 'x'",
        "bash: line 1: pytst: command not found",
        "/bin/sh: 1: pytst: not found",
        "sh: pytst: not found",
    ],
)
def test_an_error_in_how_a_tool_is_called_is_not_looked_for_in_files(error):
    recent = [step(n, "go", error=error) for n in range(3)]
    text = agent_message("nudge", situation(*recent, keys=(recent[0]["error_key"],)))
    assert "The call itself is wrong" in text
    assert "you have not" not in text


@pytest.mark.parametrize("error", ["/bin/sh: 1: ./run.sh: not found", "cat: a.txt: not found"])
def test_a_file_that_is_not_found_is_no_wrong_call(error):
    recent = [step(n, "go", error=error) for n in range(3)]
    assert "The call itself" not in agent_message("nudge", situation(*recent, keys=(recent[0]["error_key"],)))


def test_calls_that_differed_are_not_called_the_same():
    recent = [step(n, f"pay {n}", error="balance too low") for n in range(4)]
    text = agent_message("nudge", situation(*recent, keys=("error of balance too low",)))
    assert '4 different calls of "bash"' in text
    assert "Repeating it" not in text
    # Calls that look alike once they are cut are different all the same.
    alike = [{**item, "shown": "bash: pay …"} for item in recent]
    assert "4 different calls" in describe(situation(*alike, keys=("error of balance too low",)))
    assert "The calls differed" in text


def test_a_test_that_failed_before_it_counted_as_an_error_is_one_of_the_times():
    recent = [step(1, "pytest"), *(step(n, "pytest", error="assert 1 == 2") for n in (2, 3, 4))]
    assert "4 times in a row with the same error" in describe(
        situation(*recent, keys=("error of assert 1 == 2",))
    )


def test_paths_outside_the_task_are_named():
    recent = [step(1, "a"), step(2, "b", path="../other/.env", outside=True)]
    text = agent_message("nudge", situation(*recent, is_scope=True))
    assert 'Touched a path outside the task: "../other/.env".' in text
    assert "stay within the task" in text
    more = [*recent, step(3, "c", path="/etc/hosts", outside=True)]
    text = describe(situation(*more, is_scope=True))
    assert text == 'Touched paths outside the task: "/etc/hosts", "../other/.env".'


@given(st.lists(st.sampled_from([*WORDS, "run", "write"]), max_size=12))
def test_nothing_that_was_done_is_ever_called_untried(operations: list[str]):
    later = [step(n, f"s{n}", operation) for n, operation in enumerate(operations, start=4)]
    left = untried(situation(*FAILED, *later, keys=("error of no rule",)))
    assert not {WORDS.get(operation) for operation in operations} & set(left)
    assert len(left) <= 3


def test_a_reminder_tells_the_goal_and_the_scope():
    text = agent_message(
        "remind", situation(*FAILED, keys=("make",), goal="Mend it.", allow=("src/**",), deny=(".env",))
    )
    assert 'The task was: "Mend it."' in text
    assert 'Only these paths are allowed: "src/**".' in text
    assert 'Not allowed: ".env".' in text


def test_a_reminder_without_a_goal_still_says_something():
    assert "Recall the task" in agent_message("remind", situation(*FAILED, keys=("make",)))


def test_the_person_is_told_what_repeats():
    text = user_message(situation(*FAILED, keys=("error of no rule",)))
    assert "3 times" in text
    assert "has been told" in text


@pytest.mark.parametrize("rung", BOTH)
def test_everything_said_is_one_line_that_says_who_speaks(rung: str):
    text = agent_message(rung, situation(*FAILED, keys=("error of no rule",)))
    assert text.startswith("[ethogram] ")
    assert "\n" not in text


# --- what a guard says of real steps ----------------------------------------------------------

SECRETS = {
    "a bearer token": ("curl -H 'Authorization: Bearer {}' https://api.example.org", "abcdefghijklmnop1234"),
    "a key in an address": ("curl https://api.example.org/v1?api_key={}", "Zk39aQpL77xwV2bT"),
    "a key of a known form": ("deploy --with {}", "sk-proj-4fT9aQ2LxW8zR7KdM2vB"),
    "a password as an option": ("mysql --password={} -e 'select 1'", "hunter2-And-more9"),
    "a password behind an option": ("mysql --password {} -e 'select 1'", "hunter2-And-more9"),
    "a variable": ("DB_PASSWORD={} make migrate", "hunter2-And-more9"),
    "a short password": ("mysql --password={} -e 'select 1'", "hunter2"),
    "a password in an address": ("psql postgres://me:{}@db.example.org/app", "hunter2-And-more9"),
}


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("where", ["command", "error", "both"])
def test_a_secret_is_neither_said_nor_remembered(name: str, where: str):
    command, secret = SECRETS[name][0].format(SECRETS[name][1]), SECRETS[name][1]
    guard = RunGuard(task="Make it run.")
    given = {"command": command if where != "error" else "make run"}
    error = f"Error: refused: {command}" if where != "command" else "Error: refused"
    said = [guard.step(tool="bash", arguments=given, error=error) for _ in range(12)]
    texts = [item.text for item in said]
    assert any(texts)
    assert not any(secret in text for text in texts)
    assert secret not in json.dumps(guard._state)
    told = [detection.to_dict() for advice in said for detection in advice.detections]
    assert told
    assert secret not in json.dumps(told)


def test_a_secret_in_the_task_is_not_remembered():
    guard = RunGuard(task="Log in with password=hunter2-And-more9 and mend it.")
    texts = [guard.step(tool="bash", arguments={"command": "x"}, error="Error: no").text for _ in range(9)]
    assert any("The task was" in text for text in texts)
    assert not any("hunter2" in text for text in texts)
    assert "hunter2" not in json.dumps(guard._state)


def test_excerpts_have_at_most_two_hundred_characters():
    guard = RunGuard(task="mend " * 300)
    step = {
        "tool": "bash",
        "arguments": {"command": "make " + "all " * 500},
        "error": "Error: no " + "rule " * 500,
    }
    texts = [guard.step(**step).text for _ in range(12)]
    quoted = [item for text in texts for item in re.findall(r'"([^"]*)"', text)]
    assert len(quoted) >= 3
    assert all(len(item) <= 200 for item in quoted)


def test_counts_are_those_of_the_run():
    guard = RunGuard()
    for n in range(4):
        guard.step(tool="read_file", arguments={"path": f"src/a{n}.py"}, result=f"text {n}")
    texts = [
        guard.step(tool="bash", arguments={"command": "pytst"}, error="pytst: not found").text
        for _ in range(3)
    ]
    assert "3 times in a row with the same error" in texts[2]


def test_a_pipe_that_reads_and_searches_counts_as_both():
    guard = RunGuard()
    look = {"tool": "bash", "arguments": {"command": "cat setup.py | grep tests"}, "result": "tests = 1"}
    fail = {"tool": "bash", "arguments": {"command": "pytst"}, "error": "pytst: not found"}
    # The second look brings nothing new, so it does not interrupt the repetition.
    texts = [guard.step(**item).text for item in (look, fail, fail, look, fail)]
    assert texts[:4] == [""] * 4
    assert "3 times in the last 4 steps with the same error" in texts[4]
    assert WORDS["read"] not in texts[4]
    assert WORDS["search"] not in texts[4]


REJECTION = "No tool calls found in the response. Answer with exactly one tool call."


def test_rejected_outputs_are_told_as_such_where_nothing_was_called():
    guard = RunGuard()
    guard.say("Fix the parser.")
    guard.step(tool="bash", arguments={"command": "ls"}, result="a.py")
    advice = [guard.step(tool="bash", result=REJECTION, error=True) for _ in range(3)][-1]
    assert (advice.pattern, advice.rung) == ("malformed_output", "nudge")
    assert "The last 3 outputs were rejected for their form" in advice.text
    assert REJECTION in advice.text
    assert "Ran" not in advice.text
    assert "same result" not in advice.text


def test_a_complaint_in_a_message_is_no_new_request_of_the_user():
    guard = RunGuard()
    guard.say("Fix the parser.")
    guard.step(tool="bash", arguments={"command": "ls"}, result="a.py")
    for n in range(3):
        advice = guard.say(f"The answer is {n}, and that is all there is to say.", role="assistant")
        assert bool(advice.text) == (n == 2)
        guard.say(REJECTION)
    assert "The last 2 outputs were rejected" in advice.text


def test_one_rejected_output_is_told_in_the_singular_and_two_more_after_a_step_are_two():
    rejected = [step(n, "r", complaint="no tool call found") for n in (1, 2)]
    assert describe(situation(rejected[0])) == (
        'The last output was rejected for its form: "no tool call found".'
    )
    assert "The last 2 outputs" in describe(situation(step(0, "ls"), *rejected))
