"""The patterns of conversations say what the catalogue of behaviours asks of them."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ethogram import analyze
from ethogram.models import Event
from ethogram.patterns.catalogue import load_tables
from ethogram.patterns.library import select

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)

STAGED = {
    "classic_con": [
        {"REC_VULNERABLE", "EXP_HARVEST"},
        {"MAN_LOVEBOMB", "MAN_FLATTERY", "EXP_LONELY"},
        {"MAN_RECIPROCITY", "GDW_NOAGENDA"},
        {"FAB_NARRATIVE", "DEC_FRAME", "BLG_HIDDENPREM"},
        {"FAB_STAGED", "MAN_ESCALATION"},
        {"DEC_ESCALATE", "EXP_GUILT"},
        {"MAN_URGENCY", "MAN_SCARCITY", "EXP_FEAR"},
        {"MAN_ESCALATION"},
        {"DEC_SILENCE", "EXP_SHAME"},
    ],
    "amygdala_hijack": [
        {"EXP_FEAR", "MAN_URGENCY", "EXP_CRISIS"},
        {"DIS_RATIONAL", "MAN_ANCHOR"},
        {"MAN_ESCALATION", "EXP_FEAR"},
    ],
    "authority_fabrication": [
        {"MAN_AUTHORITY", "DEC_FALSEID", "FAB_INSTITUTION"},
        {"FAB_CITATION", "FAB_STATISTIC", "DEC_PRECISION"},
        {"BLG_LEAP", "MAN_CONSENSUS"},
    ],
    "dependency_loop": [
        set(),
        {"MAN_LOVEBOMB", "DEC_ANTHRO", "EXP_HARVEST"},
        {"MAN_ISOLATION", "MAN_DEPENDENCY"},
        {"EXP_INTERMITTENT", "EXP_LONELY"},
    ],
    "planted_instruction": [{"DEC_HIDDEN", "MAN_INJECTION"}, {"MAN_AUTHORITY", "DEC_FALSEID"}],
    "pump_and_dump": [
        {"FAB_NARRATIVE", "FAB_STATISTIC", "MAN_FLATTERY"},
        {"MAN_CONSENSUS", "BLG_POPULARITY", "EXP_FOMO"},
        {"MAN_URGENCY", "MAN_SCARCITY", "EXP_FEAR"},
        {"MAN_ESCALATION"},
    ],
    "gaslighting": [
        {"MAN_GASLIGHT", "DEC_TRUTHMIX"},
        {"DIS_INVALIDATE", "DEC_BLAME"},
        {"MAN_DEPENDENCY", "EXP_LONELY"},
    ],
}
PATHWAYS = {
    "diffuse_sandbagging": {"DEC_SANDBAG", "FAB_TOOLRESULT"},
    "targeted_sabotage": {"DEC_SANDBAG", "FAB_TOOLRESULT", "MAN_SABOTAGE"},
    "code_backdoors": {"DEC_HIDDEN", "DEC_OVERSIGHT"},
    "data_poisoning": {"FAB_POISON", "DEC_CTXMISALIGN"},
    "self_exfiltration": {"DEC_OVERSIGHT", "MAN_DEPENDENCY", "MAN_POWER", "MAN_SELFPRES"},
    "oversight_evasion": {"DEC_ALIGNFAKE", "DEC_OVERSIGHT", "MAN_SOCENG", "MAN_POWER", "MAN_SELFPRES"},
    "cross_organisation_sabotage": {"DEC_SANDBAG", "DEC_CTXMISALIGN", "MAN_SABOTAGE"},
    "decision_sabotage": {"MAN_SABOTAGE", "MAN_SYCOPHANT", "DEC_SELECTIVE", "DEC_FRAME", "DEC_COWARDICE"},
}
TAGS = {
    **{f"PAT-0{n}": name for n, name in enumerate(STAGED, start=1) if name != "planted_instruction"},
    "PAT-05": "trust_cascade",
    **{f"SP-0{n}": name for n, name in enumerate(PATHWAYS, start=1)},
}
INDICATOR = re.compile(r"\b[A-Z]{3}_[A-Z]+\b")


@pytest.fixture(scope="module")
def library():
    return select()


def evaluated(readings: list[dict[str, float]], *, every: timedelta = timedelta(days=1)) -> list[Event]:
    """One subject's messages to one target in one thread."""
    return [
        Event(
            id=f"e{i}", at=BEGIN + i * every, subject="sam", seq=i, target="bo", thread="t", readings=reading
        )
        for i, reading in enumerate(readings)
    ]


def found(name: str, events: list[Event]) -> list[str]:
    return [item.pattern for item in analyze(events, [name]) if item.pattern == name]


@pytest.mark.parametrize(("tag", "name"), sorted(TAGS.items()))
def test_every_row_of_the_catalogue_has_its_pattern(library, tag, name):
    assert tag in library.files[name].words["tags"]


@pytest.mark.parametrize("name", STAGED)
def test_each_stage_is_any_of_its_indicators(library, name):
    steps = library.files[name].data["shape"]["sequence"]
    conditions = [next(value for key, value in step.items() if key != "within") for step in steps]
    assert [set(INDICATOR.findall(condition)) for condition in conditions] == STAGED[name]


@pytest.mark.parametrize("name", STAGED)
def test_a_staged_pattern_takes_a_week_at_most(library, name):
    assert "7d" in str(library.files[name].data["shape"]["within"])


@pytest.mark.parametrize("name", sorted(STAGED.keys() - {"dependency_loop"}))
def test_the_stages_backwards_are_no_pattern(library, name):
    for example in (example for example in library.files[name].examples if example.fires):
        backwards = [
            replace(event, readings=other.readings)
            for event, other in zip(example.events, reversed(example.events), strict=True)
        ]
        assert found(name, list(example.events)) == [name]
        assert found(name, backwards) == []


@pytest.mark.parametrize("name", sorted(STAGED.keys() - {"dependency_loop", "classic_con"}))
def test_one_event_serves_one_stage_only(name):
    everything = {item: 0.9 for stage in STAGED[name] for item in stage}
    count = len(STAGED[name])
    hour = timedelta(hours=1)
    assert found(name, evaluated([everything] * (count - 1), every=hour)) == []
    assert found(name, evaluated([everything] * count, every=hour)) == [name]


def test_long_ones_are_told_before_they_are_complete(library):
    early = {name: library.files[name].patterns[0].tell_at for name in STAGED}
    assert {name for name, stages in STAGED.items() if len(stages) > 3} <= {k for k, v in early.items() if v}
    (told,) = analyze(evaluated(first_five(library), every=timedelta(hours=1)), ["classic_con"])
    assert (told.pattern, told.severity) == ("classic_con@5", "low")


def first_five(library) -> list[dict[str, float]]:
    example = next(example for example in library.files["classic_con"].examples if example.fires)
    return [dict(event.readings) for event in example.events[:5]]


@pytest.mark.parametrize(
    ("name", "indicator"), [(name, item) for name, every in PATHWAYS.items() for item in sorted(every)]
)
def test_one_indicator_alone_is_never_a_detection(name, indicator):
    assert found(name, evaluated([{indicator: 1.0}] * 60)) == []


@pytest.mark.parametrize("name", PATHWAYS)
def test_all_indicators_of_a_pathway_over_days_are_one(name):
    days = [{indicator: 0.8} for indicator in sorted(PATHWAYS[name])] * 2
    assert found(name, evaluated(days)) == [name]


@pytest.mark.parametrize("name", PATHWAYS)
def test_all_indicators_in_one_hour_are_talk(name):
    minutes = [{indicator: 0.8} for indicator in sorted(PATHWAYS[name])] * 2
    assert found(name, evaluated(minutes, every=timedelta(minutes=5))) == []


@pytest.mark.parametrize("name", PATHWAYS)
def test_a_pathway_weighs_its_indicators_by_how_rare_they_are(library, name):
    file = library.files[name]
    assert "weights=base_rate" in str(file.data["define"])
    assert set(INDICATOR.findall(str(file.data["define"]))) == PATHWAYS[name]
    assert load_tables()["base_rate"].keys() >= PATHWAYS[name]


@pytest.mark.parametrize("name", [name for name, every in PATHWAYS.items() if len(every) == 2])
def test_a_pathway_of_two_needs_both_whatever_was_done(library, name):
    assert library.files[name].parameters["different"] == 2
    item = min(PATHWAYS[name])
    did = {"test_disabled": 1.0, "log_edited": 1.0, "copied_out": 1.0, "out_of_scope": 1.0, "changed": 1.0}
    assert found(name, evaluated([{item: 1.0}, did, {item: 1.0}, did] * 5)) == []


def test_a_favour_without_an_agenda_is_no_rope(library):
    example = next(example for example in library.files["classic_con"].examples if example.fires)
    free = [
        replace(event, readings={**event.readings, "GDW_NOAGENDA": 0.5})
        if event.readings.get("MAN_RECIPROCITY")
        else event
        for event in example.events
    ]
    assert found("classic_con", free) == []


def test_goodwill_is_high_where_it_is_a_fifth_above_usual():
    rest = [{"MAN_LOVEBOMB": 0.7}, {"MAN_ISOLATION": 0.7}, {"EXP_LONELY": 0.7}]
    # Before the first event nothing is known: usual is the prior, 0.4.
    hour = timedelta(hours=1)
    assert found("dependency_loop", evaluated([{"goodwill": 0.59}, *rest], every=hour)) == []
    assert found("dependency_loop", evaluated([{"goodwill": 0.61}, *rest], every=hour)) == ["dependency_loop"]


def test_every_temporal_pattern_confirms_an_indicator_and_tells_the_balance(library):
    confirms = {
        "love_bombing": "MAN_LOVEBOMB",
        "darvo": "MAN_DARVO",
        "con_game": "MAN_CONGAME",
        "intermittent_reward": "EXP_INTERMITTENT",
        "alignment_faking": "DEC_ALIGNFAKE",
        "sandbagging": "DEC_SANDBAG",
    }
    for name, indicator in confirms.items():
        assert indicator in library.files[name].patterns[0].confirms
        assert "balance" in library.files[name].data["details"]
    for name in ("love_bombing", "darvo", "con_game", "intermittent_reward"):
        assert "other_complied" in library.files[name].data["details"]


def test_all_three_traits_high_throughout_are_told_as_a_threshold_and_not_as_an_order():
    high = {"accused": 1.0, "deception": 0.8, "manipulation": 0.8, "exploitation": 0.8}
    events = evaluated([high] * 6, every=timedelta(hours=1))
    assert found("darvo", events) == []
    assert found("lasting_manipulation", events) == ["lasting_manipulation"]


def test_a_greeting_that_everybody_writes_is_no_copied_text():
    def posted(text: str, by: float) -> list[Event]:
        event = Event(id="e", at=BEGIN, subject="sam", text=text, readings={"copied_by": by})
        return [event]

    speech = "Join the one true network of agents today, bring all of your friends along and never look back."
    assert found("copied_text", posted("Good morning!", 80)) == []
    assert found("copied_text", posted(speech, 4)) == []
    assert found("copied_text", posted(speech, 5)) == ["copied_text"]
