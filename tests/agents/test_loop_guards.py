"""What guards against loops are usually asked: each case in several variants."""

from __future__ import annotations

import random

import pytest

import ethogram
from run_makers import Script, detections, fired
from sampling import seeds

SEEDS = seeds(3, 8)
STUCK = {"loop", "message_loop", "malformed_output", "repetitive_errors"}


@pytest.fixture(params=SEEDS)
def script(request: pytest.FixtureRequest) -> Script:
    return Script(random.Random(request.param))


def stuck(events: list[dict]) -> set[str]:
    return STUCK & fired(events).keys()


@pytest.mark.parametrize("times", range(3, 9))
def test_the_same_step_with_the_same_result_fires_from_the_third_on(script: Script, times: int):
    path, text = script.path(), script.text()
    for n in range(times):
        script.read(path, text)
        assert bool(stuck(script.events)) == (n >= 2)


def test_to_and_fro_fires_after_three_rounds_and_not_after_two(script: Script):
    item, other = script.paths(2)
    texts = {item: script.text(), other: script.text()}
    for n in range(3):
        assert not stuck(script.events)
        script.read(item, texts[item])
        script.read(other, texts[other])
        assert (n < 2) == (not stuck(script.events))


@pytest.mark.parametrize("period", [3, 4, 5])
def test_a_longer_circle_fires(script: Script, period: int):
    steps = [(script.path(), script.text()) for _ in range(period)]
    for _ in range(3):
        for path, text in steps:
            script.read(path, text)
    assert "loop" in stuck(script.events)


def test_the_same_call_with_another_result_each_time_is_quiet(script: Script):
    path = script.path()
    for n in range(8):
        script.read(path, f"{script.text()} {n}")
    assert not stuck(script.events)


def test_the_same_call_after_an_edit_is_quiet(script: Script):
    path = script.path()
    for n in range(4):
        script.edit(path, f"{script.word()}{n}", f"{script.word()}{n}")
        script.run("git status --short", f" M {path}")
    assert not stuck(script.events)


def test_other_arguments_are_another_step(script: Script):
    for n in range(12):
        script.step("search", {"query": f"{script.word()} {n}"}, "no results")
    assert not stuck(script.events)


def test_reading_page_by_page_is_quiet(script: Script):
    path = script.path()
    for n in range(12):
        script.step("read_file", {"path": path, "offset": n * 100, "limit": 100}, f"{n}: {script.text()}")
    assert not stuck(script.events)


def test_the_same_edit_in_twenty_files_is_quiet(script: Script):
    for n in range(20):
        script.edit(f"src/{script.word()}{n}.py", "old_name", "new_name")
    assert not stuck(script.events)


@pytest.mark.parametrize("times", [3, 5])
def test_the_same_words_again_and_again_without_acting_fire(script: Script, times: int):
    said = script.text()
    script.run("ls", script.text())
    for n in range(times):
        script.say(said)
        assert bool(stuck(script.events)) == (n >= 2)


def test_the_same_words_between_steps_that_get_on_are_quiet(script: Script):
    said = script.text()
    for path in script.paths(6):
        script.say(said)
        script.read(path, f"{path} {script.text()}")
    assert not stuck(script.events)


def test_words_that_differ_a_little_are_the_same_and_a_person_resets_them(script: Script):
    said = " ".join(script.text() for _ in range(6))
    for n in range(6):
        if n == 2:
            script.event("message", {"role": "user"}, text="Then look at the other file.", subject="ann")
        script.say(f"{said} Attempt {n}.")
        assert stuck(script.events) == ({"message_loop"} if n >= 4 else set())


REJECTED = "There was no tool call in your answer ({n}). Answer with exactly one."


def test_answers_that_the_scaffold_rejects_are_malformed_output(script: Script):
    script.run("ls", script.text())
    for n in range(4):
        script.say(f"The answer is {script.text()}")
        assert stuck(script.events) == ({"malformed_output"} if n >= 2 else set())
        script.event("message", {"role": "user"}, text=REJECTED.format(n=n), subject="scaffold")


def test_rejected_steps_are_malformed_output_until_one_is_valid(script: Script):
    for n in range(8):
        if n % 4 == 3:
            script.run(f"ls {n}", script.text())
        else:
            script.step(script.shell, {}, REJECTED.format(n=n), error="format_error")
        assert stuck(script.events) == ({"malformed_output"} if n >= 2 else set())
    assert len(detections(script.events, "malformed_output")) == 2


def test_rejections_with_valid_steps_in_between_are_quiet(script: Script):
    for n in range(8):
        script.step(script.shell, {}, REJECTED.format(n=n), error="format_error")
        script.run(f"ls {n}", f"{script.text()} {n}")
    assert not stuck(script.events)


def test_condensing_again_and_again_fires(script: Script):
    script.run("ls", script.text())
    for n in range(4):
        script.condense()
        assert bool(stuck(script.events)) == (n >= 2)


def test_a_condensation_does_not_reset_a_loop(script: Script):
    path, text = script.path(), script.text()
    for n in range(3):
        script.read(path, text)
        if n == 1:
            script.condense()
    assert "loop" in stuck(script.events)


def test_a_batch_of_calls_that_fail_together_counts_once(script: Script):
    said = "Error: workspace is locked"
    for n in range(2):
        calls = [f"b{n}-{k}" for k in range(5)]
        named = {"batch": f"batch {n}"} if script.rng.random() < 0.5 else {}
        for k, call in enumerate(calls):
            script.event(
                "action", {"tool": "Read", "arguments": {"path": f"a{n}{k}"}, "call_id": call, **named}
            )
        for call in calls:
            script.event("result", {"tool": "Read", "call_id": call, "result": said, "error": said, **named})
    assert not stuck(script.events)


def test_recovery_closes_the_episode(script: Script):
    for _ in range(4):
        script.failing(script.shell, {"command": "deploy --now"}, "Error: no such target")
    for path in script.paths(2):
        script.read(path, f"{path} {script.text()}")
    found = detections(script.events, "loop", "repetitive_errors")
    assert found
    assert all(item.state == "closed" for item in found)


def test_after_many_errors_a_change_that_leads_to_something_new_closes_the_episode(script: Script):
    for _ in range(6):
        script.failing(script.shell, {"command": "deploy --now"}, "Error: no such target")
    script.edit(script.path(), "old", "new")
    script.run("deploy --dry", f"ready: {script.text()}", 0)
    assert [detection.state for detection in detections(script.events, "repetitive_errors")] == ["closed"]


def test_agents_that_act_by_turns_do_not_mix(script: Script):
    other = Script(script.rng, subject="helper", thread=script.thread, style=script.style)
    other.at = script.at
    path, text = script.path(), script.text()
    for who in (script, other):
        for _ in range(2):
            who.read(path, text)
    events = sorted(script.events + other.events, key=lambda event: event["at"])
    assert not stuck(events)


def test_runs_of_one_agent_do_not_mix(script: Script):
    path, text = script.path(), script.text()
    events = []
    for thread in ("r1", "r2", "r3"):
        item = Script(script.rng, thread=thread, style=script.style)
        item._reader = script.reader
        item.shell = script.shell
        item.read(path, text)
        events += item.events
    assert not stuck(events)


@pytest.mark.parametrize("times", [3, 6])
def test_waiting_with_sleep_is_quiet_for_a_while(script: Script, times: int):
    for _ in range(times):
        script.run(f"sleep {script.rng.choice([5, 10, 30])} && gh run view", "in progress")
    assert not stuck(script.events)


def test_waiting_for_ever_fires(script: Script):
    for _ in range(14):
        script.run("sleep 10 && gh run view", "in progress")
    assert "loop" in stuck(script.events)


def test_retries_that_back_off_and_succeed_are_quiet(script: Script):
    for n in range(script.rng.randint(3, 5)):
        script.run("npm install left-pad", "npm error network request failed: ETIMEDOUT", code=1)
        script.run(f"sleep {2**n}", "")
    script.run("npm install left-pad", "added 1 package")
    assert not stuck(script.events)


def test_a_search_that_finds_nothing_is_no_error(script: Script):
    for n in range(8):
        script.run(f"grep -rn {script.word()}{n} src", "", code=1)
    assert not stuck(script.events)


def test_what_came_of_an_action_is_not_equal_where_nobody_recorded_it(script: Script):
    call = {"tool": "open", "arguments": {"page": "home"}}
    for n in range(4):
        script.event("action", {**call, "call_id": f"c{n}"})
        script.event("result", {"tool": "open", "call_id": f"c{n}", "duration": 0.1})
    for _ in range(4):
        script.event("action", call)
    assert not stuck(script.events)


def test_an_action_counts_by_itself_in_a_run_without_results_where_it_says_more_than_its_tool(script: Script):
    for n in range(8):
        script.event("action", {"tool": "open", "arguments": {"page": "home"} if n >= 4 else {}})
        assert bool(stuck(script.events)) == (n >= 6)


def test_a_result_that_is_empty_is_one(script: Script):
    for _ in range(3):
        script.run("make", "")
    assert "loop" in stuck(script.events)


@pytest.mark.parametrize("period", [6, 10, 15])
def test_a_long_circle_fires_in_its_second_round_and_is_not_yet_critical(script: Script, period: int):
    steps = [(path, script.text()) for path in script.paths(period)]
    for _ in range(2):
        assert not stuck(script.events)
        for path, text in steps:
            script.read(path, text)
    assert fired(script.events)["loop"] == "high"


def test_a_persons_message_ends_a_loop_and_a_programs_does_not(script: Script):
    path, text = script.path(), script.text()
    for asked, times in (("Look again.", 2), ("Once more, please.", 2), ("Once more, please.", 1)):
        script.event("message", {"role": "user"}, text=asked, subject="ann")
        for _ in range(times):
            assert not stuck(script.events)
            script.read(path, text)
    # Said word for word before: three readings in a row since the person spoke.
    assert "loop" in stuck(script.events)
    script.event("message", {"role": "user"}, text="And now the other file.", subject="ann")
    script.read(script.path(), script.text())
    [loop] = [item for item in detections(script.events) if item.pattern == "loop"]
    assert loop.state == "closed"


def test_other_flags_are_another_action(script: Script):
    for flag in ("0fdfddb0", "5edcfa0b", "0fe5c44f"):
        script.step("submit", {"answer": f"flag{{{flag}}}"}, "incorrect")
    assert not stuck(script.events)


def test_files_of_a_project_among_temporary_files_are_different_and_generated_names_are_not(script: Script):
    for name in ("main", "variables", "outputs", "region"):
        script.step("Edit", {"path": f"/tmp/project/infra/{name}.tf"}, "ok")
    assert not stuck(script.events)
    for name in ("tmpab3dxq", "tmpk2jd0f", "tmpzz71ab"):
        script.run(f"python /tmp/{name}/check.py", "failed", code=1)
    assert stuck(script.events)


def test_copies_of_a_line_in_a_log_are_no_message_loop():
    """Each message comes three times at once, as where a log has three handlers; long, or of no time."""
    said = [f"Looking at file {n}, which may hold the parser." for n in range(40)]
    for size, timed in ((300, False), (0, True)):
        events = [
            {
                "subject": "agent",
                "thread": "r",
                "kind": "message",
                "text": text.ljust(size, "."),
                "attributes": {"role": "assistant"},
                **({"at": f"2026-05-01T09:00:{n:02}Z"} if timed else {}),
            }
            for n, text in enumerate(said)
            for _ in range(3)
        ]
        assert not ethogram.analyze(events, patterns=["message_loop"]).detections


def test_a_log_that_repeats_every_line_gives_at_most_one_alarm():
    events = [
        {
            "subject": "agent",
            "thread": "r",
            "kind": "message",
            "text": f"Next file: {n}.",
            "attributes": {"role": "assistant"},
        }
        for n in range(100)
        for _ in range(3)
    ]
    assert len(ethogram.analyze(events, patterns=["message_loop"]).detections) <= 1


def test_an_agent_that_repeats_itself_all_day_is_one_alarm_until_it_acts_and_five_at_most(script: Script):
    for _ in range(12):
        for _ in range(3):
            said = script.text()
            for _ in range(3):
                script.say(said)
        script.read(script.path(), script.text())
    loops = [item for item in detections(script.events) if item.pattern == "message_loop"]
    assert 1 <= len(loops) <= 5


def test_plain_events_without_command_or_path_are_read_by_their_arguments() -> None:
    """A search that finds nothing in thirty folders is no error, also where only the arguments name it."""
    events = []
    for k in range(30):
        call = {"tool": "bash", "arguments": {"command": f"grep -r foo dir{k}"}, "call_id": f"c{k}"}
        outcome = {"tool": "bash", "call_id": f"c{k}", "result": "", "exit_code": 1}
        for seq, kind, attributes in ((2 * k, "action", call), (2 * k + 1, "result", outcome)):
            events.append({"subject": "a", "thread": "r", "seq": seq, "kind": kind, "attributes": attributes})
    assert not ethogram.analyze(events, patterns=["loop", "repetitive_errors"]).detections
