"""A turn that would reach SUSPECT is confirmed by an evaluator before the mode stands."""

from __future__ import annotations

import json

import pytest

from ethogram import Conversation, Mode
from ethogram.app.chat import Followed, standing, turn_record
from ethogram.app.chat_files import ChatTurn
from ethogram.errors import BadUsage
from ethogram.evaluators.base import make_evaluator
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
        scored = Followed(talk_with(name, server), "kim").add(ChatTurn("c1", "kim", "user", GRAVE))
        assert turn_record(scored)["confirmation"] == "not confirmed"
        assert "evaluator: not confirmed" in list(standing(scored, moved=True))


def test_what_cannot_confirm_is_refused_at_once():
    with pytest.raises(BadUsage, match="'local' cannot confirm"):
        Conversation("c1", evaluator="local")
    with pytest.raises(BadUsage, match="budget needs an evaluator"):
        Conversation("c1", budget=1.0)
