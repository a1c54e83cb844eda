"""The other signals of runs: talk, goals, things that are not there, what is used up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from ethogram.models import Event
from ethogram.signals import Measurer, measure_all
from ethogram.signals.measurer import MAX_RUNS

START = datetime(2026, 5, 1, tzinfo=UTC)


def told(n: int, kind: str, text: str | None = None, **fields: object) -> Event:
    own = {name: fields.pop(name) for name in ("subject", "thread") if name in fields}
    at = START + timedelta(seconds=fields.pop("second", n))
    place = {"subject": "agent", "thread": "r", **own}
    return Event.sample(id=f"e{n}", seq=n, at=at, kind=kind, text=text, attributes=fields, **place)


def readings(name: str, *events: Event) -> list[object]:
    return [event.readings.get(name) for event in measure_all(events, [name])]


def test_the_same_words_have_the_same_key_and_people_have_none():
    said = "I will now look at the file."
    item, other, person = readings(
        "talk_key",
        told(1, "message", said, role="assistant"),
        told(2, "message", said.upper(), role="assistant"),
        told(3, "message", said, role="user"),
    )
    assert item is not None
    assert item.rpartition("#")[2] == other.rpartition("#")[2]
    assert person is None


def test_a_message_is_repeated_only_where_what_it_answers_is():
    words = (
        "I have looked at every file in the folder and there is nothing left that I could change here today"
    )
    asked = "Please go on with the next step."
    talk = [
        ("agent", words + "."),
        ("agent", words + ", sorry."),  # near-identical, nothing heard in between
        ("ann", asked),
        ("agent", words + "."),  # a person wrote
        ("ann", asked),
        ("agent", words + "."),  # word for word the same again: automated from now on
        ("ann", asked),
        ("agent", words + "."),
        ("helper", "The last test fails because of a missing comma."),
        ("agent", words + "."),  # another agent brought something new
    ]
    roles = {"ann": "user"}
    events = [
        told(n, "message", text, subject=who, role=roles.get(who, "assistant"))
        for n, (who, text) in enumerate(talk)
    ]
    keys = [key for key, (who, _) in zip(readings("talk_key", *events), talk, strict=True) if who == "agent"]
    assert keys[0] == keys[1]
    assert keys[3] == keys[4]
    assert len({keys[1], keys[2], keys[3], keys[5]}) == 4


REJECTED = [
    "No function call was found in the last message.",
    "Your reply could not be parsed: it must be a single JSON object.",
    "FormatError: expected exactly one code block, got two.",
    "Invalid response: missing 'Action:' after the thought.",
    "You did not format your answer correctly. Always give one command.",
    "OutputParserException: Could not parse LLM output: I think it is 4",
    "There is no code in the previous message that I could execute.",
    "Error: the tool call arguments are not valid JSON",
    "The previous response had errors: no valid JSON found.",
    "The Action Input is not a dictionary.",
]
ACCEPTED = [
    "Please continue with the next step.",
    "I have no reservation number, but my name is Ann Lee.",
    "Your answer is wrong. Try again.",
    "No such file or directory",
    "The output of the command is not what you expected.",
    "ValueError: cannot parse date 'today'",
    "BadRequestError: Error code: 400 - {'message': 'Invalid prompt: your prompt was flagged'}",
]


def test_a_complaint_is_about_the_form_of_the_output_in_whatever_words():
    def complaint(text: str) -> object:
        talk = [told(1, "message", "It is four.", role="assistant")]
        talk += [told(2, "message", text, subject="s", role="user")]
        talk += [told(3, "message", "It is 4.", role="assistant")]
        return readings("complaint_key", *talk)[2]

    assert [text for text in REJECTED if complaint(text) is None] == []
    assert [text for text in ACCEPTED if complaint(text) is not None] == []


def test_a_complaint_needs_an_output_before_it_and_is_over_once_the_agent_acts():
    task = told(1, "message", REJECTED[0], subject="ann", role="user")
    said = told(2, "message", "It is four.", role="assistant")
    reply = told(3, "message", REJECTED[0], subject="ann", role="user")
    acts = told(4, "action", tool="bash", command="ls")
    again = told(5, "message", "It is four.", role="assistant")
    assert readings("complaint_key", task, said) == [None, None]
    assert readings("complaint_key", said, reply, again)[2] == REJECTED[0].lower()
    assert readings("complaint_key", said, reply, acts, again) == [None] * 4
    printed = told(6, "result", tool="bash", result=f"{REJECTED[0]}", exit_code=1)
    assert readings("complaint_key", acts, printed) == [None, None]
    typed = told(7, "result", tool="bash", result="Unterminated string", error=True, error_type="parsing")
    assert readings("complaint_key", acts, typed) == [None, "unterminated string"]


def test_a_file_that_never_was_is_a_phantom_and_one_that_was_removed_is_not():
    gone = {"tool": "Read", "result": "File does not exist.", "error": True}
    values = readings(
        "phantom",
        told(1, "action", path="src/a.py", tool="Read", result="x"),
        told(2, "action", path="src/b.py", **gone),
        told(3, "action", path="src/a.py", **gone),
        told(4, "action", tool="frobnicate", result="Error: unknown tool frobnicate", error=True),
    )
    assert values == ["none", "file", "none", "reference"]


def test_a_success_that_the_last_test_contradicts_is_a_phantom():
    claim = {"text": "All tests pass now.", "role": "assistant"}
    values = readings(
        "phantom",
        told(1, "action", tool="bash", command="pytest", result="1 failed", exit_code=1),
        told(2, "message", **claim),
        told(3, "action", tool="bash", command="pytest", result="1 passed", exit_code=0),
        told(4, "message", **claim),
    )
    assert values == ["none", "assertion", "none", "none"]


def test_a_step_about_the_goal_is_nearer_to_it():
    goal = told(0, "message", "Fix the date parser in calendar/parse.py", role="user", subject="ann")
    near = told(1, "action", tool="read", arguments={"path": "calendar/parse.py", "why": "date parser"})
    far = told(2, "action", tool="read", arguments={"path": "billing/invoice.py", "why": "tax table"})
    values = readings("alignment", goal, near, far)
    assert values[0] is None
    assert values[1] > values[2]


def test_calls_are_counted_by_the_minute_from_the_second_one_on():
    events = [told(n, "action", tool="x", second=10 * n) for n in range(8)]
    assert readings("calls", *events) == [None] * 6 + [6, 6]


def test_a_run_is_measured_against_the_good_ones_before():
    events = []
    for r in range(12):
        label = {"label": "failure"} if r == 0 else {}
        calls = 100 if r == 0 else 10 if r < 11 else 20
        events += [told(len(events) + n, "action", tool="x", thread=f"r{r}", **label) for n in range(calls)]
    values = readings("budget_share", *events)
    assert values[0] is None
    assert values[-1] == 2.0


def test_states_of_runs_that_stand_still_are_forgotten_and_order_survives_a_restart():
    measurer = Measurer(["progress"])
    for n in range(MAX_RUNS + 50):
        measurer.measure(told(n, "action", tool="x", result="y", thread=f"r{n}"))
    again = Measurer(["progress"])
    again.load(measurer.save())
    assert again.save() == measurer.save()
    whose = {key[2] for key in measurer.states() if key[0] == "progress"}
    assert len(whose) == MAX_RUNS
    event = told(0, "action", tool="x", result="y", thread=f"r{MAX_RUNS + 49}")
    assert again.measure(event).readings["progress"] == 0
