"""`ethogram analyze`: detections out, exit codes that scripts can rely on, and a report people understand."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import BinaryIO

import pytest

import ethogram
from ethogram.cli.main import main
from settings_files import trusted_settings
from small import BOTH, GONE, HOT, WARM, message, turns, warm_messages, write_events, write_patterns
from waiting import PATIENCE_SECONDS, started, wait_until


@pytest.fixture
def folder(tmp_path, monkeypatch, no_shipped_patterns) -> Path:
    """A folder with patterns of our own alone, and events in which one of them fires."""
    monkeypatch.chdir(tmp_path)
    write_patterns(tmp_path / "patterns", WARM, HOT, GONE, BOTH)
    write_events(tmp_path / "events.jsonl", warm_messages())
    trusted_settings(tmp_path, "patterns: [patterns]\n")
    return tmp_path


def run(*args: str, code: int = 0) -> None:
    assert main(["analyze", *args]) == code


def records(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def command(*args: str, **options) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "ethogram", "analyze", *args]
    return subprocess.run(
        line, capture_output=True, encoding="utf-8", timeout=PATIENCE_SECONDS, check=False, **options
    )


def test_json_is_detections_then_what_is_insufficient_then_one_summary(folder, capsys):
    write_events(folder / "more.jsonl", turns("cy", [0.9, 0.9], [1, 2]))
    run("events.jsonl", "more.jsonl", "--json")
    found = records(capsys.readouterr().out)
    assert [one["record"] for one in found] == ["detection", "insufficient", "summary"]
    assert (found[0]["pattern"], found[0]["subject"]) == ("warm_then_cold", "ann")
    assert (found[1]["pattern"], found[1]["subject"]) == ("gone_away", "cy")
    assert found[-1]["detections"] == 1


def test_the_report_says_what_who_when_why_on_what_evidence_and_what_to_do(folder, capsys):
    run("events.jsonl")
    said = capsys.readouterr().out
    assert said.startswith(
        "1 detection (1 high) in 4 events of 1 subject, as of 2026-01-04 12:00 UTC.\n"
        "\n"
        "HIGH  Love bombing\n"
        "  ann → bo   2026-01-01 12:00 – 2026-01-04 12:00\n"
        "  ann was warm to bo 3 times, then pressed (0.80).\n"
        "  2026-01-01 12:00  warm   compassion 0.9\n"
        "  2026-01-02 12:00  warm   compassion 0.8\n"
        "  2026-01-03 12:00  warm   compassion 0.9\n"
        "  2026-01-04 12:00  press  compassion 0.1, manipulation 0.8\n"
        "  What to do: Ask the target whether they felt free to say no.\n"
        "  pattern warm_then_cold, medium confidence, id "
    )


def test_verbose_adds_ids_details_and_the_number(folder, capsys):
    run("events.jsonl", "--verbose")
    said = capsys.readouterr().out
    assert "  2026-01-04 12:00  press  ann-4  compassion 0.1, manipulation 0.8\n  times: 3\n" in said
    assert "  pattern warm_then_cold, confidence 0.69, id " in said


def test_several_detections_are_ranked_first_and_the_gravest_detailed(folder, capsys):
    lines = [line for n in range(5) for line in warm_messages(f"ann{n}")]
    write_events(folder / "events.jsonl", [*lines, *turns("cy", [0.9, 0.9, 0.9], [1, 2, 3])])
    run("events.jsonl", "--patterns", "warm_then_cold", "--patterns", "hot_for_long")
    said = capsys.readouterr().out
    rows = said.split("\n\n")[1].splitlines()
    assert [re.split(r"  +", row)[:3] for row in rows] == [
        *(["HIGH", "Love bombing", f"ann{n} → bo"] for n in range(5)),
        ["MEDIUM", "Hot for long", "cy"],
    ]
    assert said.count("What to do: Ask the target") == 3
    assert "\n\n3 more detections: --verbose shows the details.\n" in said
    run("events.jsonl", "--patterns", "warm_then_cold", "--verbose")
    assert capsys.readouterr().out.count("What to do: Ask the target") == 5


def test_a_conversation_shows_what_was_said_masked_and_json_does_not(folder, capsys):
    texts = [{**one, "text": f"no. {n}, write to ann@example.com"} for n, one in enumerate(warm_messages())]
    write_events(folder / "events.jsonl", texts)
    run("events.jsonl")
    assert (
        "  2026-01-01 12:00  warm   “no. 0, write to [e-mail]”  compassion 0.9\n" in capsys.readouterr().out
    )
    run("events.jsonl", "--json")
    assert "write to" not in capsys.readouterr().out


def test_nothing_found_is_said_plainly_with_what_was_checked(folder, capsys):
    write_events(folder / "events.jsonl", turns("cy", [0.1, 0.1, 0.1], [1, 2, 3]))
    run("events.jsonl")
    said = capsys.readouterr().out
    assert said == (
        "No detections in 3 events of 1 subject, as of 2026-01-03 12:00 UTC.\n"
        "\n"
        "Checked: 3 patterns without a match (--verbose lists them).\n"
        "Not applicable: 1 pattern, which needs readings of compassion, manipulation (1).\n"
    )
    run("events.jsonl", "--verbose")
    said = capsys.readouterr().out
    assert "No match: your own: gone_away, hot_for_long, hot_then_gone\n" in said
    assert "Could not be judged, required signals are missing: your own: warm_then_cold\n" in said


def test_no_events_at_all_is_said_plainly(folder, capsys):
    (folder / "events.jsonl").write_text("")
    run("events.jsonl")
    assert capsys.readouterr().out == "There are no events in this input.\n"


def test_a_step_that_could_not_be_judged_names_what_it_reads(folder, capsys):
    events = [message("a", 1, "ann", manipulation=0.1), message("b", 2, "ann", manipulation=0.1)]
    write_events(folder / "events.jsonl", events)
    run("events.jsonl", "--patterns", "warm_then_cold", "--verbose")
    assert "step 'warm' could not be judged anywhere: it needs compassion\n" in capsys.readouterr().out


def test_insufficient_data_is_counted_by_reason_or_listed(folder, capsys):
    write_events(folder / "events.jsonl", turns("cy", [0.9, 0.9], [1, 2]) + turns("di", [0.9], [1]))
    run("events.jsonl", "--patterns", "gone_away")
    assert "Checked: 1 pattern with insufficient data for 2 histories (" in capsys.readouterr().out
    run("events.jsonl", "--patterns", "gone_away", "--verbose")
    assert "  gone_away: 2 histories: too few events to know what is usual\n" in capsys.readouterr().out
    run("events.jsonl", "--patterns", "gone_away", "--insufficient")
    line = "  gone_away: subject cy: has 2 events, needs 3: too few events to know what is usual\n"
    assert line in capsys.readouterr().out


def test_patterns_can_be_named_by_name_glob_file_and_folder(folder, capsys):
    for selector, count in (
        ("warm_then_cold", 1),
        ("hot_*", 2),
        ("patterns/gone_away.yaml", 1),
        ("patterns", 4),
    ):
        run("events.jsonl", "--json", "--patterns", selector)
        assert len(records(capsys.readouterr().out)[-1]["checked"]) == count, selector
    run("events.jsonl", "--patterns", "warm_then_cod", code=2)
    assert "did you mean 'warm_then_cold'?" in capsys.readouterr().err


def test_fail_on_is_exit_3_at_or_above_the_severity(folder, capsys):
    run("events.jsonl", "--fail-on", "high", code=3)
    run("events.jsonl", "--fail-on", "low", code=3)
    run("events.jsonl", "--fail-on", "critical")
    trusted_settings(folder, "{patterns: [patterns], fail_on: medium}\n")
    run("events.jsonl", code=3)
    assert "1 detection" in capsys.readouterr().out
    run("events.jsonl", "--fail-on", "hihg", code=2)
    assert "did you mean 'high'?" in capsys.readouterr().err


def test_fail_on_is_an_error_where_no_pattern_could_be_judged(folder, capsys):
    write_events(folder / "none.jsonl", [{"subject": "ann", "text": "hi"}])  # no scores
    run("none.jsonl", "--fail-on", "low", code=2)
    assert "--fail-on: no pattern could be judged: no event has " in capsys.readouterr().err
    run("none.jsonl")
    # `copied_text` needs a text of six words; the other pattern stays without its signals.
    long = "one two three four five six seven"
    write_events(folder / "none.jsonl", [{"subject": "ann", "text": long}])
    copied = str(Path(ethogram.__file__).parent / "library" / "conversation" / "copied_text.yaml")
    run("none.jsonl", "--patterns", copied, "--patterns", "warm_then_cold", "--fail-on", "low")
    assert capsys.readouterr().err == "--fail-on: these patterns could not be judged: warm_then_cold\n"


def test_an_input_of_invalid_lines_alone_is_bad_and_an_empty_one_is_not(folder, capsys):
    (folder / "bad.jsonl").write_text("not json\n")
    run("bad.jsonl", "--skip-bad", code=2)
    assert "every line is invalid" in capsys.readouterr().err
    (folder / "empty.jsonl").write_text("")
    run("empty.jsonl")
    assert capsys.readouterr().out.startswith("There are no events in this input.\n")
    run("empty.jsonl", "--fail-on", "low", code=2)


def test_shadow_patterns_are_counted_and_fails_nothing(folder, capsys):
    trusted_settings(folder, "{patterns: [patterns], status: {warm_then_cold: shadow}}\n")
    run("events.jsonl", "--fail-on", "low")
    said = capsys.readouterr().out
    assert said.startswith("No detections")
    assert "Not shown, shadow patterns: 1 detection (warm_then_cold 1)\n" in said


def test_a_bad_line_is_exit_2_and_nothing_on_standard_output(folder):
    with (folder / "events.jsonl").open("a") as file:
        file.write("not json\n")
    done = command("events.jsonl", "--patterns", "patterns", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("events.jsonl:5:")


def test_bad_lines_can_be_left_out_and_are_listed_up_to_fifty(folder, capsys):
    with (folder / "events.jsonl").open("a") as file:
        file.write("not json\n" * 60)
    run("events.jsonl", "--skip-bad")
    said = capsys.readouterr()
    assert "Skipped: 60 invalid lines\n" in said.out
    # Sixty alike: the first fifty are one line with their places.
    first, rest = said.err.splitlines()
    assert "; also lines 6, 7, 8, 9, 10 and 44 more" in first
    assert rest == "... and 10 more"
    run("events.jsonl", "--skip-bad", "--json")
    said = capsys.readouterr()
    assert records(said.out)[-1]["bad"] == 60
    assert {one["record"] for one in records(said.err)} == {"fault"}


def test_standard_input_is_read_as_a_file_is(folder):
    events = (folder / "events.jsonl").read_text()
    done = command("-", "--patterns", "patterns", "--json", cwd=folder, input=events)
    assert records(done.stdout)[0]["record"] == "detection"
    assert done.returncode == 0


def test_the_moment_of_the_question_can_be_given(folder, capsys):
    run("events.jsonl", "--as-of", "2026-01-03T12:00:00Z")
    said = capsys.readouterr().out
    assert said.startswith("No detections in 3 events")
    assert "Skipped: 1 event after --as-of\n" in said
    run("events.jsonl", "--as-of", "yesterday", code=2)
    assert "--as-of: 'yesterday' is not a time" in capsys.readouterr().err


def test_parameters_can_be_set_for_one_run(folder, capsys):
    run("events.jsonl", "--set", "warm_then_cold.warmth=0.85")
    assert capsys.readouterr().out.startswith("No detections")
    for wrong in ("warm_then_cold.warmth", "warmth=1", "warm_then_cold.warmth=hot", "=", ".=1"):
        run("events.jsonl", "--set", wrong, code=2)
        assert "expected PATTERN.PARAMETER=NUMBER" in capsys.readouterr().err
    run("events.jsonl", "--set", "warm_then_cold.warmht=1", code=2)
    assert "did you mean 'warmth'?" in capsys.readouterr().err


def test_readings_by_another_scorer_are_counted_with_what_would_use_them(folder, capsys):
    events = warm_messages()
    for event in events:
        event["readings"]["compassion"] = {"value": event["readings"]["compassion"], "scorer": "rubric 2"}
    write_events(folder / "events.jsonl", events)
    run("events.jsonl")
    said = capsys.readouterr().out
    assert said.startswith("No detections")
    hint = "--scorer 'compassion=rubric 2', or in ethogram.yaml scorers: {compassion: \"rubric 2\"}"
    assert f"Not used: 4 readings by rubric 2 (compassion). To use them: {hint}\n" in said
    run("events.jsonl", "--scorer", "compassion=rubric 2")
    assert capsys.readouterr().out.startswith("1 detection")


def test_events_without_times_are_told_by_their_place(folder, capsys):
    events = turns("cy", [0.9, 0.9, 0.9], [1, 2, 3])
    for event in events:
        del event["at"]
    write_events(folder / "events.jsonl", events)
    run("events.jsonl", "--patterns", "hot_for_long")
    said = capsys.readouterr().out
    assert "  cy   since no. 3, still open\n" in said
    assert "1970" not in said


def test_nothing_of_the_input_is_obeyed_by_the_terminal(folder, capsys):
    nasty = "\x1b[2Jann\nHIGH  fake"
    events = [{**one, "subject": nasty, "id": f"\x1b]0;{i}"} for i, one in enumerate(warm_messages())]
    write_events(folder / "events.jsonl", events)
    run("events.jsonl")
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "\\x1b[2Jann\\nHIGH  fake → bo" in said


def test_many_evidence_rows_are_shortened_in_the_middle(folder, capsys):
    events = [message(f"m{i}", 1, "ann", compassion=0.9, manipulation=0.1) for i in range(30)]
    events.append(message("end", 2, "ann", compassion=0.1, manipulation=0.9))
    write_events(folder / "events.jsonl", events)
    run("events.jsonl", "--patterns", "warm_then_cold")
    said = capsys.readouterr().out
    assert "  ...               25 more" in said
    assert "  2026-01-02 12:00  press    compassion 0.1" in said
    run("events.jsonl", "--patterns", "warm_then_cold", "--verbose")
    assert capsys.readouterr().out.count("  warm   m") == 30


def test_a_missing_file_is_named(folder, capsys):
    run("nowhere.jsonl", code=2)
    assert capsys.readouterr().err == "nowhere.jsonl: no such file or folder\n"


def test_colour_only_on_a_terminal(folder):
    done = command("events.jsonl", "--patterns", "patterns", cwd=folder, env={**os.environ, "TERM": "xterm"})
    assert "\x1b" not in done.stdout
    assert done.stderr == ""


def unread(pipe: BinaryIO) -> int:
    """How many bytes were written into a pipe and not read yet."""
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0]


@pytest.mark.skipif(os.name == "nt", reason="signals are sent to a process on POSIX only")
def test_an_interrupt_is_exit_130_with_nothing_half_written(folder):
    line = [sys.executable, "-m", "ethogram", "analyze", "-", "--patterns", "patterns"]
    with started(
        line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder
    ) as process:
        process.stdin.write((folder / "events.jsonl").read_bytes())
        process.stdin.flush()
        wait_until(lambda: unread(process.stdin) == 0, "the command to read what it was sent")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out, err) == (130, b"", b"ethogram: interrupted\n")


@pytest.mark.skipif(os.name == "nt", reason="signals are sent to a process on POSIX only")
def test_a_command_started_with_interrupts_ignored_is_not_interrupted(folder):
    line = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", sys.executable, "-m", "ethogram", "analyze", "-"]
    with started(
        [*line, "--patterns", "patterns"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder
    ) as process:
        process.stdin.write((folder / "events.jsonl").read_bytes())
        process.stdin.flush()
        wait_until(lambda: unread(process.stdin) == 0, "the command to read what it was sent")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0
    assert out == command("events.jsonl", "--patterns", "patterns", cwd=folder).stdout.encode()


def test_an_empty_input_has_no_moment(folder, capsys):
    (folder / "empty.jsonl").touch()
    run("empty.jsonl", "--json")
    assert records(capsys.readouterr().out)[-1]["as_of"] is None
    run("empty.jsonl", "--html", "page.html")
    assert "1970" not in capsys.readouterr().out + (folder / "page.html").read_text(encoding="utf-8")


def test_a_line_dated_ahead_is_told_with_its_place_skipped_or_allowed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = [
        '{"subject": "ann", "at": "2026-01-01T00:00:00Z"}',
        '{"subject": "bo", "at": "9999-01-01T00:00:00Z"}',
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    assert main(["analyze", "a.jsonl"]) == 2
    assert capsys.readouterr().err.startswith(
        "a.jsonl:2: at: 9999-01-01T00:00:00Z is in the future: expected"
    )
    assert main(["analyze", "a.jsonl", "--skip-bad", "--json"]) == 0
    told = capsys.readouterr()
    assert "a.jsonl" in told.err
    assert '"as_of": "2026-01-01T00:00:00Z"' in told.out
    monkeypatch.setenv("ETHOGRAM_MAX_FUTURE", "null")
    assert main(["analyze", "a.jsonl", "--json"]) == 0
    assert '"as_of": "9999-01-01T00:00:00Z"' in capsys.readouterr().out


DATA = Path(ethogram.__file__).parent / "data" / "examples"
EXAMPLES = sorted(path.name for path in DATA.glob("*.jsonl"))


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("options", [[], ["--verbose"], ["--json"]], ids=["text", "verbose", "json"])
def test_every_example_is_reported(name: str, options: list[str], capsys: pytest.CaptureFixture[str]):
    assert main(["analyze", str(DATA / name), *options]) == 0
    out, err = capsys.readouterr()
    assert out
    assert "internal error" not in err


def test_one_unreadable_file_does_not_stop_its_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_events(tmp_path / "good.jsonl", [{"subject": "ann"}])
    (tmp_path / "odd.jsonl").write_bytes('{"subject": "bo"}'.encode("utf-16"))
    named = "1 file that is not events: ./odd.jsonl (the file is UTF-16: expected UTF-8)"
    assert main(["analyze", "."]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"Skipped: {named}"
    assert main(["analyze", ".", "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out.splitlines()[-1])["events"] == 1
    assert json.loads(told.err)["message"] == f"skipped {named}"


@pytest.mark.parametrize(
    "lines", ["Ann: hello there\nBo: hi Ann\n", "user: hello\n\nassistant: Hi! How are you?\n"]
)
def test_a_conversation_in_lines_names_the_command_that_reads_it(lines, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("my chat.txt").write_text(lines, encoding="utf-8")
    assert main(["analyze", "my chat.txt"]) == 2
    said = capsys.readouterr().err
    assert (
        said
        == "my chat.txt: a conversation in lines of text, not events: use `ethogram chat 'my chat.txt'`\n"
    )
    line = shlex.split(said.split("`")[1])
    assert main(line[1:]) == 0
    assert "2 turns" in capsys.readouterr().out


def test_patterns_that_do_not_apply_say_in_one_line_what_they_need(tmp_path, capsys):
    step = {"subject": "agent", "thread": "r", "kind": "action"}
    steps = [
        {**step, "attributes": {"tool": "bash", "command": f"make {n}", "result": "ok"}} for n in range(4)
    ]
    write_events(tmp_path / "run.jsonl", steps)
    talk = [{**message(f"m{n}", n, "ann"), "text": f"hello {n}"} for n in (1, 2)]
    write_events(tmp_path / "talk.jsonl", talk)
    told = {}
    for name in ("run", "talk"):
        assert main(["analyze", str(tmp_path / f"{name}.jsonl")]) == 0
        lines = " ".join(capsys.readouterr().out.split()).split("Not applicable: ")
        told[name] = lines[1]
    assert re.fullmatch(r"\d+ patterns, which need messages \(\d+\), times \(`at`\) \(\d+\)\.", told["run"])
    for need in ("scores of messages", "chats with a model", "agent runs", "weeks of use"):
        assert need in told["talk"]
    assert re.search(r"scores of messages \(\d+: --evaluator local\)", told["talk"])
    count, *each = map(int, re.findall(r"\d+", told["talk"]))
    assert count == sum(each)
