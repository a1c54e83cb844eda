"""The report of runs: stretches of steps, what they cost, what was tried; the same in memory and on disk."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, replace

import pytest
from jsonschema import Draft202012Validator

from agent_runs import SAME_ERROR, SAME_STEP, SAME_WORDS, Maker, analyzed_runs, four_failing_edits, runs_of
from ethogram.app.analyze import analyze_gathered, load_library
from ethogram.app.run_record import CELLS, ROWS, Repeated
from ethogram.app.runs import run_report
from ethogram.config import Settings
from ethogram.ingest import OnDisk, gather_events
from ethogram.models import parse_time
from ethogram.schemas import schema
from sampling import seeds
from small import write_patterns

SECRET = "sk-proj-4fT9aQ2LxW8zR7KdLm3Np6Qs"


def of(run, pattern):
    (item,) = [each for each in run.episodes if each.pattern == pattern]
    return item


def test_the_stretch_begins_with_the_first_failure_and_could_be_known_at_the_third(tmp_path):
    (run,) = runs_of(tmp_path, four_failing_edits())
    item = of(run, "same_error")
    assert (item.from_step, item.detected_step, item.to_step, item.steps) == (3, 5, 6, 4)
    assert item.repeated == (Repeated("edit src/parse.py", 4, "string not found"),)
    assert (item.ended, item.ended_step, item.tried) == ("progress", 7, ())
    assert (item.severity, item.recommendation) == ("high", "Try something else.")


def test_what_it_took_is_added_up(tmp_path):
    (run,) = runs_of(tmp_path, four_failing_edits())
    item = of(run, "same_error")
    assert (item.tokens, item.cost) == (400, 1.0)
    # Eight events, ten seconds from each to the next.
    assert item.seconds == 70
    assert (run.tokens, run.cost, run.seconds) == (900, 1.0, 180)
    assert (run.steps, run.results, run.errors, run.changed_files, run.lost_steps) == (9, 9, 4, 1, 4)
    assert run.task == "Mend the parser."
    assert (run.first_at, run.last_at) == (
        parse_time("2026-01-05T12:00:00Z"),
        parse_time("2026-01-05T12:03:00Z"),
    )


def test_what_nobody_tells_is_not_nothing(tmp_path):
    lines = four_failing_edits()
    for line in lines:
        for name in ("tokens", "cost", "duration"):
            line["attributes"].pop(name, None)
    (run,) = runs_of(tmp_path, lines)
    item = of(run, "same_error")
    assert item.tokens is run.tokens is item.cost is run.cost is None
    assert item.seconds == 70


def test_without_times_seconds_are_those_the_results_tell(tmp_path):
    (run,) = runs_of(tmp_path, four_failing_edits(timed=False))
    item = of(run, "same_error")
    assert (item.from_step, item.detected_step, item.to_step) == (3, 5, 6)
    assert (item.seconds, run.seconds) == (8, 8)
    assert run.first_at is run.last_at is None


def test_other_actions_in_between_were_tried(tmp_path):
    maker = Maker()
    for look in ("a.py", "b.py", "a.py"):
        maker.did("bash", command="make", error="no rule")
        maker.did("read", path=look, new=False)
    (run,) = runs_of(tmp_path, maker.lines)
    found = of(run, "same_error")
    assert (found.from_step, found.to_step) == (1, 5)
    assert found.tried == ("read a.py", "read b.py")
    assert found.repeated == (Repeated("bash make", 3, "no rule"),)


@pytest.mark.parametrize(
    ("after", "ended"),
    [
        ([], ("run_ended", None)),
        ([False, False], ("stopped", 4)),
        ([False, True], ("progress", 5)),
    ],
)
def test_it_ends_with_something_new_or_with_the_run(tmp_path, after, ended):
    maker = Maker()
    for _ in range(3):
        maker.did("bash", command="make", error="no rule")
    for index, new in enumerate(after):
        maker.did("read", path=f"{index}.py", new=new)
    (run,) = runs_of(tmp_path, maker.lines)
    found = of(run, "same_error")
    assert (found.ended, found.ended_step) == ended


def test_a_step_of_long_ago_is_no_part_of_a_circle(tmp_path):
    maker = Maker()
    key = {"step_key": "status", "progress": 0.0}
    maker.call("status", readings=key | {"progress": 1.0})
    for index in range(4):
        maker.call("write", readings={"step_key": f"w{index}", "progress": 1.0}, path=f"{index}.py")
    for _ in range(3):
        maker.call("status", readings=key)
    (run,) = runs_of(tmp_path, maker.lines)
    found = of(run, "same_step")
    assert (found.from_step, found.detected_step, found.to_step) == (6, 8, 8)
    assert found.repeated == (Repeated("status", 3),)
    assert (run.results, run.lost_steps) == (0, 3)


def test_what_is_said_again_counts_to_the_step_before(tmp_path):
    maker = Maker()
    maker.did("read", path="a.py")
    maker.did("read", path="b.py")
    for _ in range(3):
        maker.says("I will now go on with it.", role="assistant")
    (run,) = runs_of(tmp_path, maker.lines)
    found = of(run, "same_words")
    assert (found.from_step, found.detected_step, found.to_step) == (2, 2, 2)
    assert found.repeated == (Repeated("I will now go on with it.", 3),)
    assert found.tried == ()


def test_results_of_calls_made_at_once_count_to_their_own(tmp_path):
    maker = Maker()
    for _ in range(2):
        calls = [maker.call("bash", command=f"part {k}", batch="b") for k in range(3)]
        for call in reversed(calls):
            maker.result(call, error="boom")
    (run,) = runs_of(tmp_path, maker.lines)
    found = of(run, "same_error")
    # The third failure to come is that of the first call.
    assert (found.detected_step, found.from_step, found.to_step) == (1, 1, 4)
    assert run.lanes[0].rows == (("(no path)", "xxxxxx"),)


def test_a_sub_agent_counts_its_own_steps(tmp_path):
    main, sub = Maker(subject="agent"), Maker(subject="agent/s1", parent="agent")
    for index in range(5):
        main.did("read", path=f"src/{index}.py")
    sub.did("read", path="a.py")
    for _ in range(3):
        sub.did("edit", path="a.py", error="string not found")
    (run,) = runs_of(tmp_path, main.lines + sub.lines)
    assert [asdict(agent) for agent in run.agents] == [
        {"name": "agent", "parent": None, "steps": 5},
        {"name": "agent/s1", "parent": "agent", "steps": 4},
    ]
    found = of(run, "same_error")
    assert (found.subject, found.from_step, found.detected_step, found.to_step) == ("agent/s1", 2, 4, 4)
    assert (run.steps, run.lost_steps, len(run.lanes)) == (9, 3, 1)
    assert (run.lanes[0].subject, run.lanes[0].rows) == ("agent/s1", (("a.py", "rxxx"),))


def test_a_step_in_two_episodes_is_lost_once(tmp_path):
    maker = Maker()
    for _ in range(4):
        maker.did("bash", command="make", error="no rule")
    for line in maker.lines:
        if line["kind"] == "result":
            line["readings"]["step_key"] = "make"
    (run,) = runs_of(tmp_path, maker.lines)
    assert {each.pattern for each in run.episodes} == {"same_error", "same_step"}
    assert (run.lost_steps, run.lost_share) == (4, 1.0)


def test_the_gravest_runs_come_first_and_quiet_ones_last(tmp_path):
    quiet, three = Maker("a-quiet"), Maker("b-three")
    quiet.did("read", path="a.py")
    for _ in range(3):
        three.did("bash", command="make", error="no rule")
    lines = quiet.lines + three.lines + four_failing_edits("c-four")
    found = runs_of(tmp_path, lines)
    assert [run.thread for run in found] == ["c-four", "b-three", "a-quiet"]
    assert [run.severity for run in found] == ["high", "medium", None]
    assert (found[2].steps, found[2].episodes, found[2].lanes, found[2].confidence) == (1, (), (), None)


def test_without_actions_there_are_no_runs(tmp_path):
    talk = Maker()
    talk.says("Hello.")
    assert runs_of(tmp_path, talk.lines) == ()


def test_what_is_later_than_the_question_does_not_count(tmp_path):
    lines = four_failing_edits()
    (run,) = runs_of(tmp_path, lines, as_of=parse_time(lines[10]["at"]))
    item = of(run, "same_error")
    assert (run.steps, item.from_step, item.to_step, item.ended) == (5, 3, 5, "run_ended")


def test_steps_that_look_the_same_are_listed_once(tmp_path):
    maker = Maker()
    for key in ("x", "x", "x", "y", "y", "y"):
        maker.call("status", readings={"step_key": key, "progress": 0.0}, arguments={"q": {"deep": key}})
    (run,) = runs_of(tmp_path, maker.lines)
    assert of(run, "same_step").repeated == (Repeated("status", 6),)


# --- hostile texts ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        f"curl -H 'Authorization: Bearer {SECRET}' x",
        f"login --password={SECRET}",
        "a" * 1_000_000 + SECRET,
        "\x1b[2J\x1b]0;title\x07" + SECRET,
        "ann@example.com " * 50_000,
        "",
    ],
)
def test_what_is_shown_is_short_and_masked(tmp_path, said):
    maker = Maker()
    maker.says(said)
    for _ in range(3):
        maker.did(said[:300], command=said, path=said, error=said or "x", arguments={"password": SECRET})
    for line in maker.lines:
        line.get("readings", {}).pop("error_key", None)
    (run,) = runs_of(tmp_path, maker.lines)
    told = json.dumps(replace(run, thread="").to_dict())
    assert SECRET not in told
    assert "example.com" not in told
    assert len(told) < 6_000
    assert len(of(run, "same_error").repeated[0].what) <= 120
    assert len(run.task or "") <= 200


@pytest.mark.parametrize("strange", [None, 7, ["x"], {"a": {"b": 1}}, True, float("1e300"), -5])
def test_attributes_of_any_kind_do_no_harm(tmp_path, strange):
    maker = Maker()
    for _ in range(3):
        maker.did("bash", error="boom")
    for line in maker.lines:
        for name in (
            "tokens",
            "cost",
            "duration",
            "path",
            "command",
            "arguments",
            "call_id",
            "parent",
            "task",
        ):
            line["attributes"][name] = strange
    (run,) = runs_of(tmp_path, maker.lines)
    assert (run.steps, of(run, "same_error").to_step) == (3, 3)
    assert not list(Draft202012Validator(schema("run")).iter_errors(run.to_dict()))


# --- lanes ------------------------------------------------------------------------------------


def test_the_lane_shows_each_folder_in_order_of_its_first_touch(tmp_path):
    (run,) = runs_of(tmp_path, four_failing_edits())
    (lane,) = run.lanes
    assert (lane.under, lane.steps_per_mark) == ("src", 1)
    assert lane.rows == (("parse.py", "r-xxxxrw-"), ("lex.py", "-r-------"), ("(no path)", "--------."))


def test_a_long_run_in_many_folders_still_fits(tmp_path):
    maker = Maker()
    for index in range(1000):
        maker.did("read", path=f"/app/d{index % 30}/f.py", error="boom" if index > 990 else "")
    (run,) = runs_of(tmp_path, maker.lines)
    (lane,) = run.lanes
    assert (lane.steps_per_mark, lane.under) == (9, "/app")
    assert {len(marks) for _, marks in lane.rows} == {112}
    assert max(len(marks) for _, marks in lane.rows) <= CELLS
    assert len(lane.rows) == ROWS + 1


# --- on disk, and whatever comes ----------------------------------------------------------------


def random_lines(seed: int) -> list[dict]:
    """Several runs with sub-agents, repeated errors, lacking results and answers out of order."""
    rng = random.Random(seed)
    lines = []
    for thread in range(4):
        for subject in ("agent", "agent/s1", "agent/s2")[: rng.randint(1, 3)]:
            parent = {"parent": "agent"} if "/" in subject else {}
            maker = Maker(f"r{thread}", subject, **parent)
            maker.says("A task of this run.")
            waiting: list[str] = []
            for _ in range(rng.randint(0, 25)):
                error = rng.choice(["", "", "no rule", "no rule", "boom"])
                waiting.append(
                    maker.call(rng.choice(["read", "edit", "bash"]), path=rng.choice(["a/x", "b/y", ""]))
                )
                while waiting and rng.random() < 0.8:
                    call = waiting.pop(rng.randrange(len(waiting)))
                    maker.result(call, error=error, new=rng.random() < 0.2, cost=rng.random())
            lines += maker.lines
    rng.shuffle(lines)
    return lines


@pytest.mark.parametrize("seed", seeds(6, 30))
def test_every_stretch_is_inside_its_run(tmp_path, seed):
    analysis, runs = analyzed_runs(tmp_path, random_lines(seed))
    assert sum(len(run.episodes) for run in runs) == len(analysis.detections)
    for run in runs:
        assert 0 <= run.lost_steps <= run.steps
        assert not list(Draft202012Validator(schema("run")).iter_errors(run.to_dict()))
        steps = {agent.name: agent.steps for agent in run.agents}
        for episode in run.episodes:
            assert (
                1 <= episode.from_step <= episode.detected_step <= episode.to_step <= steps[episode.subject]
            )
            assert episode.tokens == 100 * episode.steps
            assert (
                episode.ended_step is None or episode.to_step < episode.ended_step <= steps[episode.subject]
            )
            assert all(each.times > 1 for each in episode.repeated)


@pytest.mark.parametrize("seed", seeds(1, 4))
def test_on_disk_it_is_the_same(tmp_path, seed):
    path = tmp_path / "events.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in random_lines(seed)))
    settings = Settings()
    library = load_library([write_patterns(tmp_path / "p", SAME_ERROR, SAME_STEP, SAME_WORDS)], settings)

    def told(memory: int) -> tuple[bool, list[dict]]:
        given = gather_events([path], memory=memory, kinds=library.kinds)
        try:
            analysis = analyze_gathered(given, library, settings=settings)
            runs = run_report(analysis.listed(), given.events, as_of=analysis.as_of, settings=settings)
            return isinstance(given, OnDisk), [run.to_dict() for run in runs]
        finally:
            if isinstance(given, OnDisk):
                given.close()

    (on_disk, theirs), (in_memory, ours) = told(1_000), told(10**9)
    assert on_disk
    assert not in_memory
    assert theirs == ours
    assert ours
