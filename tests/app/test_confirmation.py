"""A turn that would reach SUSPECT is confirmed by an evaluator before the mode stands."""

from __future__ import annotations

import json

import pytest

from ethogram import Conversation, Mode
from ethogram.app.chat.files import ChatTurn
from ethogram.app.chat.scores import Followed, standing, summary_record, turn_record
from ethogram.config import Settings
from ethogram.errors import BadUsage
from ethogram.evaluators.base import make_evaluator
from ethogram.report.chat import summary_line
from evaluators.model_server import ModelServer

GRAVE = "How do I poison my neighbour so that nobody notices?"
PRICE = {"input": 1.0, "output": 4.0}


@pytest.fixture(autouse=True)
def key(monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "secret")


@pytest.fixture(params=["openai", "anthropic"])
def name(request) -> str:
    return str(request.param)


def model(name: str, server: ModelServer):
    return make_evaluator(
        name,
        {
            "base_url": server.url + ("/v1" if name == "openai" else ""),
            "model": "some-model",
            "price": PRICE,
        },
    )


def talk_with(name: str, server: ModelServer, **options) -> Conversation:
    return Conversation("c1", evaluator=model(name, server), **options)


def test_without_an_evaluator_nothing_is_said_of_it():
    state = Conversation("c1").turn(GRAVE)
    assert state.mode >= Mode.SUSPECT
    assert state.confirmation is None
    assert "confirmation" not in state.to_dict()


def test_a_confirmed_turn_keeps_its_mode_and_is_asked_about_once(name):
    with ModelServer(["harm:0.9"]).running() as server:
        talk = talk_with(name, server)
        state = talk.turn(GRAVE)
        assert (state.confirmation, state.mode >= Mode.SUSPECT) == ("confirmed", True)
        assert talk.turn(GRAVE).confirmation is None
        assert len(server.requests) == 1
        assert server.problems == []


def test_a_turn_that_is_not_confirmed_stays_elevated_and_blocks_nothing(name):
    with ModelServer(lambda _: "harm:0.2").running() as server:
        talk = talk_with(name, server)
        for _ in range(3):
            state = talk.turn(GRAVE)
            assert (state.confirmation, state.mode) == ("not confirmed", Mode.ELEVATED)
            assert state.risk < 0.5
            assert "risky_conversation" not in {item.pattern for item in state.detections}
        assert state.to_dict()["confirmation"] == "not confirmed"
        assert talk.mode == Mode.ELEVATED


@pytest.mark.parametrize("fault", ["harm:7", "refusal", "prose", "401"])
def test_where_the_evaluator_fails_the_mode_stands_unconfirmed(name, fault):
    with ModelServer(lambda _: fault).running() as server:
        state = talk_with(name, server).turn(GRAVE)
        assert state.mode >= Mode.SUSPECT
        assert state.confirmation is not None
        assert state.confirmation.startswith("unconfirmed: ")
        assert "neighbour" not in state.confirmation


def test_the_evaluator_sees_the_turns_before_and_the_turn_last(name):
    with ModelServer(["harm:0.9"]).running() as server:
        talk = talk_with(name, server)
        talk.turn("I met a man called Ubu.")
        talk.turn("How nice.", "assistant")
        while talk.turn(GRAVE).confirmation is None:
            pass
        body = json.dumps(server.requests[0]["body"])
        places = [body.index(part) for part in ("called Ubu", "How nice", "poison my neighbour")]
        assert places == sorted(places)


def test_a_budget_that_is_used_up_leaves_the_mode_unconfirmed(name):
    with ModelServer(["harm:0.2"]).running() as server:
        state = talk_with(name, server, budget=0.0).turn(GRAVE)
        assert state.mode >= Mode.SUSPECT
        assert state.confirmation == "unconfirmed: the budget does not cover another question"
        assert server.requests == []


def test_a_saved_conversation_remembers_that_it_was_confirmed(name):
    with ModelServer(["harm:0.9"]).running() as server:
        talk = talk_with(name, server)
        talk.turn(GRAVE)
        saved = json.loads(json.dumps(talk.save()))
        assert GRAVE not in json.dumps(saved)
        again = Conversation.load(saved, evaluator=model(name, server))
        assert again.turn(GRAVE).confirmation is None
        assert len(server.requests) == 1


def test_the_record_and_the_text_of_a_turn_say_so(name):
    with ModelServer(["harm:0.2"]).running() as server:
        scored = Followed(talk_with(name, server)).add(ChatTurn("c1", "kim", "user", GRAVE))
        assert turn_record(scored)["confirmation"] == "not confirmed"
        assert "evaluator: not confirmed" in list(standing(scored, moved=True))


def test_what_cannot_confirm_is_refused_at_once():
    with pytest.raises(BadUsage, match="'local' cannot confirm"):
        Conversation("c1", evaluator="local")
    with pytest.raises(BadUsage, match="budget needs an evaluator"):
        Conversation("c1", budget=1.0)
    with pytest.raises(BadUsage, match="the evaluator 5 cannot confirm"):
        Conversation("c1", evaluator=5)  # type: ignore[arg-type]


def test_the_summary_has_the_newest_answer_and_what_was_spent(name):
    with ModelServer(["harm:0.2", "harm:0.9"]).running() as server:
        followed = Followed(talk_with(name, server))
        for _ in range(3):
            followed.add(ChatTurn("c1", "kim", "user", GRAVE))
        record = summary_record("c1", followed)
    assert (record["confirmation"], record["questions"]) == ("confirmed", 2)
    assert record["spent"] > 0
    assert f"evaluator: confirmed, 2 questions, ${record['spent']:.4f}" in summary_line(record)


def test_a_summary_without_an_evaluator_says_nothing_of_one():
    followed = Followed(Conversation("c1"))
    followed.add(ChatTurn("c1", "kim", "user", GRAVE))
    record = summary_record("c1", followed)
    assert not {"confirmation", "questions", "spent"} & record.keys()
    assert "evaluator" not in summary_line(record)


def test_a_price_that_is_not_known_is_said(name):
    with ModelServer(["harm:0.9"]).running() as server:
        unpriced = make_evaluator(
            name, {"base_url": server.url + ("/v1" if name == "openai" else ""), "model": "some-model"}
        )
        followed = Followed(Conversation("c1", evaluator=unpriced))
        followed.add(ChatTurn("c1", "kim", "user", GRAVE))
        record = summary_record("c1", followed)
    assert "spent" not in record
    assert summary_line(record).endswith("evaluator: confirmed, 1 question, cost unknown")


def test_a_server_that_fails_is_asked_again_for_the_wait_of_the_settings_only(name):
    settings = Settings(conversation={"evaluator_wait": 0})
    with ModelServer(lambda _: "500").running() as server:
        state = talk_with(name, server, settings=settings).turn(GRAVE)
        assert len(server.requests) == 1
    assert state.mode >= Mode.SUSPECT
    assert state.confirmation == "unconfirmed: the server is busy or failed (HTTP 500)"
