"""Whatever a model's server does, a question ends as an answer or as the reason why there is none."""

from __future__ import annotations

import logging
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from ethogram.errors import BadUsage, EvaluatorStopped, MissingExtra
from ethogram.evaluators import llm
from ethogram.evaluators.anthropic import Anthropic
from ethogram.evaluators.base import Evaluation, NotMeasured, Question, Usage, make_evaluator
from ethogram.evaluators.llm_options import KNOWN
from ethogram.evaluators.openai import OpenAI
from ethogram.evaluators.pricing import OVERHEAD, Price, most_tokens, price_of
from ethogram.evaluators.rubric import rubric_version
from ethogram.lexicon.records import Scan
from ethogram.remote import client as remote_client
from evaluators.model_server import SECRET_ECHO, ModelServer, honest_answer
from waiting import PATIENCE_SECONDS, wait_until

KEY = "sk-topsecret-0123456789"
TEXT = "Nobody else would have you, and you know it."
PRICE = {"input": 2.0, "output": 10.0, "cache_read": 0.2, "cache_write": 2.5}
CLIENTS = {"anthropic": Anthropic, "openai": OpenAI}
FORMS = {"anthropic": 4, "openai": 5}


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("MODEL_KEY", KEY)


@pytest.fixture(params=sorted(CLIENTS))
def name(request):
    return request.param


def question(text=TEXT, tier="focused", **more) -> Question:
    return Question("net", "m1", "ann", text, Scan((), len(text.split()), "en", "v1"), tier, **more)


def client(name, server, sleeps=None, **options):
    given = {
        "base_url": server.url + ("/v1" if name == "openai" else ""),
        "model": "some-model",
        "key_env": "MODEL_KEY",
        "price": PRICE,
        **options,
    }
    return CLIENTS[name](given, sleep=(sleeps if sleeps is not None else []).append)


def billed(server) -> float:
    price = Price(**PRICE)
    return sum(price.cost(Usage(**count)) for count in server.billed)


def test_an_answer_is_what_the_model_said_of_this_message(name):
    with ModelServer().running() as server:
        model = client(name, server)
        answer = model.evaluate(question())
    honest = honest_answer(question().prompt()[1])
    assert isinstance(answer, Evaluation)
    assert answer.traits == honest["traits"]
    assert [
        (TEXT[indicator.start : indicator.end], indicator.confidence) for indicator in answer.indicators
    ] == [("Nobody", 0.7)]
    assert answer.scorer == f"{name}:some-model@{rubric_version()}"
    assert (answer.width, answer.dropped) == (0, {})
    assert server.problems == []
    assert server.requests[0]["headers"]["authorization"] == f"Bearer {KEY}"


def test_usage_and_cost_are_those_of_the_models_side(name):
    with ModelServer().running() as server:
        model = client(name, server)
        first, second = model.evaluate(question()), model.evaluate(question("Another one"))
    assert (first.usage.cache_read, second.usage.cache_write) == (0, 0)
    assert first.usage.cache_write == second.usage.cache_read > 5_000
    expected = (
        first.usage.input * 2.0 + first.usage.output * 10.0 + first.usage.cache_write * 2.5
    ) / 1_000_000
    assert first.cost == pytest.approx(expected, rel=1e-12)
    assert first.cost + second.cost == pytest.approx(billed(server), rel=1e-12)
    assert second.cost < first.cost


def test_the_width_is_that_of_the_tier(name):
    thread = tuple(("bo", f"earlier {k}", Scan((), 2, "en", "v1")) for k in range(9))
    with ModelServer().running() as server:
        model = client(name, server)
        widths = [
            model.evaluate(question(tier=tier, thread=thread, history={"messages": 3})).width
            for tier in ("focused", "deep", "deep_with_context")
        ]
    assert widths == [0, 4, 1_000_000]


# Per fault: how often the server is asked, and what is said in the end.
NO_ANSWER = {
    "truncated": (2, "the answer is not JSON"),
    "html": (2, "the answer is not JSON"),
    "shapeless": (2, llm.UNREADABLE),
    "huge": (2, "the answer is too long or packed"),
    "packed": (2, "the answer is too long or packed"),
    "drop": (2, "the connection broke"),
    "drop_middle": (2, "the connection broke"),
    "slow": (2, "no answer in time"),
    "drip:0.1": (2, "no answer in time"),
    "refusal": (2, "the model refused"),
    "empty": (2, "the answer is empty"),
    "cut": (2, "the answer was cut off at max_tokens"),
    "high": (2, "traits are no numbers from 0 to 1: virtue"),
    "nan": (2, "the answer is not one JSON object"),
    "eleven": (2, "traits are missing: virtue"),
    "another": (2, "the answer is for another message"),
    "prose": (2, "the answer is not one JSON object"),
    "half": (2, "the answer is not one JSON object"),
    "twice": (2, "a key of the answer is given twice"),
    "413": (1, "the server does not take the request (HTTP 413)"),
    "429": (6, "the server is busy or failed (HTTP 429)"),
    "500": (6, "the server is busy or failed (HTTP 500)"),
    "503": (6, "the server is busy or failed (HTTP 503)"),
    "529": (6, "the server is busy or failed (HTTP 529)"),
}
STOPS = {"401": "key", "402": "account", "403": "key", "404": "model"}


TIMED = {"slow", "drip:0.1"}
"""Faults that only the client's own timeout ends."""


@pytest.mark.parametrize("fault", NO_ANSWER)
def test_a_fault_that_stays_is_not_measured_and_never_0(name, fault):
    times, reason = NO_ANSWER[fault]
    sleeps: list[float] = []
    with ModelServer(lambda _: fault).running() as server:
        model = client(name, server, sleeps, timeout=0.5 if fault in TIMED else 60)
        answer = model.evaluate(question())
        worst = model.worst_cost(question())
    assert isinstance(answer, NotMeasured)
    assert answer.reason == reason
    assert answer.final == (fault == "413")
    assert len(server.requests) == times
    assert len(sleeps) == (5 if times == 6 else 0)
    assert billed(server) <= answer.spent <= worst
    assert server.problems == []


@pytest.mark.parametrize("fault", [fault for fault, (times, _) in NO_ANSWER.items() if times > 1])
def test_a_fault_that_passes_costs_one_more_request(name, fault):
    with ModelServer([fault]).running() as server:
        model = client(name, server, timeout=2 if fault in TIMED else 60)
        answer = model.evaluate(question())
        worst = model.worst_cost(question())
    assert isinstance(answer, Evaluation)
    assert len(server.requests) == 2
    fences = {str(request["body"]).rpartition("--- ")[2][:16] for request in server.requests}
    assert len(fences) == (1 if fault[:3] in ("429", "500", "503", "529") else 2), (
        "a new fence when asked anew"
    )
    assert billed(server) <= answer.cost <= worst


@pytest.mark.parametrize("fault", STOPS)
def test_what_no_further_question_would_survive_stops_the_run(name, fault):
    text = f"^{name}: .*{STOPS[fault]}.*HTTP {fault}"
    with (
        ModelServer(["high", fault]).running() as server,
        pytest.raises(EvaluatorStopped, match=text) as stopped,
    ):
        client(name, server).evaluate(question())
    assert len(server.requests) == 2
    assert stopped.value.spent == pytest.approx(billed(server))
    assert stopped.value.__cause__ is stopped.value.__context__ is None


def test_a_server_that_is_not_there_stops_the_run(name):
    with ModelServer().running() as server:
        pass
    sleeps: list[float] = []
    with pytest.raises(EvaluatorStopped, match="no connection to the server"):
        client(name, server, sleeps).evaluate(question())
    assert len(sleeps) == 2
    assert sum(sleeps) < 4, "a mistake in the address is told soon"


def test_a_server_that_never_picks_up_is_given_up_soon(name, monkeypatch):
    # Its queue is full, so that no connection is ever made nor refused.
    with socket.socket() as deaf, ExitStack() as others:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        for _ in range(4):
            item = others.enter_context(socket.socket())
            item.setblocking(False)
            item.connect_ex(deaf.getsockname())
        monkeypatch.setattr(remote_client, "LONGEST_CONNECT", 0.5)
        monkeypatch.setattr(remote_client, "NEVER_REACHED_SECONDS", 0.4)
        address = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        sleeps: list[float] = []
        model = CLIENTS[name]({"base_url": address, "model": "m", "timeout": 60}, sleep=sleeps.append)
        model.client()
        with pytest.raises(EvaluatorStopped, match="no connection to the server"):
            model.evaluate(question())
        assert sleeps == [], "it was tried once"


@pytest.mark.parametrize("first", [None, remote_client.RequestFailure("busy", "")])
def test_a_server_that_was_reached_once_is_waited_for(name, first, monkeypatch):
    away, sleeps = remote_client.RequestFailure("unreached", "away"), []
    said = iter([first, *[away] * 6])
    monkeypatch.setattr(remote_client, "attempt", lambda send: next(said))
    with ModelServer().running() as server:
        model = client(name, server, sleeps)
    if first is None:
        assert model.patiently(lambda: None) is None
    assert model.patiently(lambda: None) == away
    assert len(sleeps) == 5


def test_after_the_end_nothing_is_sent_again_and_what_was_under_way_counts_in_full(name):
    # The server answers nothing until the client hangs up.
    with ModelServer(lambda _: "slow").running() as server, ThreadPoolExecutor(2) as pool:
        model = client(name, server)
        model.client()
        answers = [pool.submit(model.evaluate, question(f"{TEXT} {k}")) for k in range(2)]
        wait_until(lambda: len(server.requests) == 2, "two requests")
        model.close()
        got = [answer.result(timeout=50) for answer in answers]  # the timeout of a request is 60
        assert len(server.requests) == 2
    for k, item in enumerate(got):
        worst = model.worst_cost(question(f"{TEXT} {k}"))
        assert item == NotMeasured("the run was ended", pytest.approx(worst / 2))


def test_after_the_end_no_question_is_asked_at_all(name):
    with ModelServer().running() as server:
        for used_before in (False, True):
            model = client(name, server)
            if used_before:
                model.evaluate(question())
            before = len(server.requests)
            model.close()
            model.close()
            assert model.evaluate(question()) == NotMeasured("the run was ended")
            assert len(server.requests) == before
            with pytest.raises(EvaluatorStopped, match="the run was ended"):
                model.client()


def test_whoever_waits_to_ask_again_hears_of_the_end(name, monkeypatch):
    waits, wait = threading.Event(), remote_client.Connections.wait

    def waiting(connections, seconds):
        waits.set()
        wait(connections, seconds)

    monkeypatch.setattr(remote_client.Connections, "wait", waiting)
    with ModelServer(lambda _: "429:50").running() as server, ThreadPoolExecutor(1) as pool:
        options = {"base_url": server.url + "/v1" * (name == "openai"), "model": "m", "price": PRICE}
        model = make_evaluator(name, options)
        answer = pool.submit(model.evaluate, question())
        assert waits.wait(PATIENCE_SECONDS), "it never waited to ask again"
        model.close()
        assert answer.result(timeout=40) == NotMeasured("the run was ended")  # not after the 50 seconds
        assert len(server.requests) == 1


@pytest.mark.parametrize("text", ["", " \n\t ", "\u2003"])
def test_a_text_without_a_letter_is_not_worth_a_question(name, text):
    with ModelServer().running() as server:
        assert client(name, server).evaluate(question(text)) == NotMeasured("the text is empty", final=True)
    assert server.requests == []


def test_a_models_name_may_be_a_number(name):
    with ModelServer().running() as server:
        assert client(name, server, model=3).scorer == f"{name}:3@{rubric_version()}"


def test_a_redirect_is_not_followed(name):
    with (
        ModelServer().running() as other,
        ModelServer([f"redirect:{other.url}/v1/messages"]).running() as server,
        pytest.raises(EvaluatorStopped, match=r"elsewhere.*HTTP 307"),
    ):
        client(name, server).evaluate(question())
    assert (len(server.requests), other.requests) == (1, [])


@pytest.mark.parametrize(
    ("fault", "reason"),
    [("wrong_ids", "unknown indicator"), ("wrong_quotes", "quote not in the text")],
)
def test_indicators_that_cannot_be_used_are_dropped_and_counted(name, fault, reason):
    with ModelServer([fault]).running() as server:
        answer = client(name, server).evaluate(question())
    assert isinstance(answer, Evaluation)
    assert (answer.indicators, answer.dropped) == ((), {reason: 1})


def test_an_answer_without_a_count_is_charged_at_its_worst(name):
    with ModelServer(["bad_usage"]).running() as server:
        model = client(name, server)
        answer = model.evaluate(question())
        assert answer.cost == pytest.approx(model.worst_cost(question()) / 2)


def test_without_a_price_no_cost_is_told(name):
    with ModelServer().running() as server:
        options = {"base_url": server.url + "/v1" * (name == "openai"), "model": "nobody-knows-it"}
        model = make_evaluator(name, options)
        assert model.worst_cost(question()) is None
        assert model.evaluate(question()).cost is None


@pytest.mark.parametrize(
    "text", ["x" * 9_000, "\U0001f600" * 8_000, "ก" * 8_000, "", "a\x00b", "half \ud83d"]
)
def test_no_text_costs_more_than_was_foreseen(name, text):
    # Asked twice and answered twice, to no avail: the dearest course there is.
    with ModelServer(lambda _: "another").running() as server:
        model = client(name, server)
        answer = model.evaluate(question(text))
        worst = model.worst_cost(question(text))
    assert isinstance(answer, NotMeasured)
    assert billed(server) <= answer.spent + 1e-12 <= worst


@pytest.mark.parametrize(
    ("asked", "least", "most"),
    [
        ("7", 7, 7.25),
        ("date", 30, 50.25),
        ("9999", 60, 60),
        ("-3", 0, 0.25),
        ("soon", 0.5, 1),
        ("nan", 0.5, 1),
    ],
)
def test_the_wait_is_what_the_server_asks_for(name, asked, least, most):
    sleeps: list[float] = []
    with ModelServer([f"429:{asked}"]).running() as server:
        assert isinstance(client(name, server, sleeps).evaluate(question()), Evaluation)
    assert len(sleeps) == 1
    assert least <= sleeps[0] <= most


def test_without_a_word_of_it_the_waits_double():
    busy = remote_client.RequestFailure("busy", "")
    assert [remote_client.waiting_time(busy, turn, 1.0) for turn in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert [remote_client.waiting_time(busy, turn, 0.0) for turn in range(3)] == [0.5, 1, 2]


def test_it_does_wait():
    with ModelServer(["529:1"]).running() as server:
        model = Anthropic({"base_url": server.url})
        model.client()
        start = time.monotonic()
        assert isinstance(model.evaluate(question()), Evaluation)
        assert time.monotonic() - start >= 1.0


@pytest.mark.parametrize(
    ("name", "refuses", "times"),
    [
        ("anthropic", ["thinking"], 2),
        ("anthropic", ["thinking", "effort"], 3),
        ("anthropic", ["thinking", "effort", "format"], 4),
        ("openai", ["json_schema"], 2),
        ("openai", ["json_schema", "json_object"], 3),
        ("openai", ["temperature"], 4),
        ("openai", ["temperature", "json_schema"], 5),
    ],
)
def test_what_a_server_does_not_take_is_left_out_from_then_on(name, refuses, times):
    with ModelServer(refuses=refuses).running() as server:
        model = client(name, server)
        assert isinstance(model.evaluate(question()), Evaluation)
        assert len(server.requests) == times
        assert isinstance(model.evaluate(question("And another")), Evaluation)
        assert len(server.requests) == times + 1
        server.refuses.add("everything")
        assert model.evaluate(question()).final
        assert len(server.requests) == times + 2, "it was taken before, so the question is what is wrong"


def test_a_question_that_nobody_takes_does_not_spoil_the_form_for_the_next(name):
    with ModelServer(lambda number: "400" if number < FORMS[name] else "ok").running() as server:
        model = client(name, server)
        assert model.evaluate(question()) == NotMeasured(
            "the server does not take the request (HTTP 400)", final=True
        )
        assert isinstance(model.evaluate(question()), Evaluation)
    assert len(server.requests) == FORMS[name] + 1
    assert set(server.requests[-1]["body"]) == set(server.requests[0]["body"])


def test_it_may_be_used_by_several_threads(name):
    texts = [f"Message number {k} of many" for k in range(20)]
    limit = threading.Semaphore(4)

    def evaluate(text):
        with limit:
            return model.evaluate(question(text))

    def say(number):
        if not number:
            wait_until(lambda: server.most_at_once > 1, "a second request beside the first")
        (text,) = set(re.findall(r"Message number \d+", str(server.requests[number]["body"])))
        asked.append(text)
        # Every seventh message gets a wrong answer the first time.
        return "another" if int(text.split()[-1]) % 7 == 3 and asked.count(text) == 1 else "ok"

    asked: list[str] = []
    with ModelServer(say).running() as server:
        model = client(name, server)
        assert model.concurrency == 4
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(evaluate, texts))
    assert 1 < server.most_at_once <= 4
    for text, answer in zip(texts, answers, strict=True):
        assert answer.traits == honest_answer(question(text).prompt()[1])["traits"]
    assert sum(answer.cost for answer in answers) == pytest.approx(billed(server))


@pytest.mark.parametrize("fault", ["ok", "400", "401", "429", "500", "truncated", "drop", "refusal", "slow"])
def test_neither_key_nor_text_is_in_logs_output_or_errors(name, fault, caplog, capfd, monkeypatch):
    monkeypatch.setenv(f"{name.upper()}_LOG", "debug")
    logging.getLogger("httpcore2.connection")
    for logger in (
        "",
        "anthropic",
        "anthropic._base_client",
        "openai._base_client",
        "httpx2",
        "httpcore2.http11",
    ):
        caplog.set_level(logging.DEBUG, logger)
    said = []
    with ModelServer(lambda _: fault).running() as server:
        model = client(name, server, timeout=0.5 if fault in TIMED else 60)
        try:
            said += [model.evaluate(question())]
        except EvaluatorStopped as error:
            said += [error, str(error), error.__dict__, error.__context__]
        said += [model, vars(model)]
    out, err = capfd.readouterr()
    whole = "\n".join([caplog.text, out, err, *map(repr, said)])
    for secret in (KEY, "topsecret", TEXT, TEXT[:12], SECRET_ECHO):
        assert secret not in whole
    assert f"{name}:" in whole or "traits" in whole or "NotMeasured" in whole


def test_what_others_log_through_the_same_loggers_is_left_alone(name, caplog):
    with ModelServer().running() as server, caplog.at_level(logging.DEBUG, "httpx2"):
        client(name, server).evaluate(question())
        logging.getLogger("httpx2").debug("somebody else's request")
    assert caplog.messages == ["somebody else's request"]


def test_no_proxy_is_asked_for_a_server_on_this_machine(name, monkeypatch):
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    with ModelServer().running() as server:
        assert isinstance(client(name, server).evaluate(question()), Evaluation)


def test_the_environment_cannot_send_the_key_elsewhere(name, monkeypatch):
    with ModelServer().running() as other, ModelServer().running() as server:
        monkeypatch.setenv(f"{name.upper()}_BASE_URL", other.url)
        client(name, server).evaluate(question())
    assert (len(server.requests), other.requests) == (1, [])


def test_a_providers_key_is_not_sent_to_others(name, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ModelServer().running() as server:
        options = {"base_url": server.url + "/v1" * (name == "openai"), "model": "m"}
        assert isinstance(make_evaluator(name, options).evaluate(question()), Evaluation)
    assert KEY not in str(server.requests)
    with pytest.raises(BadUsage, match=r"key_env is missing.* is not sent to others"):
        CLIENTS[name]({"base_url": "https://models.example.org/v1", "model": "m"})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "needs a key in the environment variable"),
        ({"modell": "x"}, "unknown option 'modell'; did you mean 'model'"),
        ({"zzz": 1}, "known are " + ", ".join(KNOWN)),
        ({"api_key": KEY}, "keys are read from the environment only"),
        ({"key_env": KEY}, "the name of an environment variable in capitals, not the key"),
        ({"key_env": "NOT_SET_AT_ALL"}, "needs a key in the environment variable NOT_SET_AT_ALL"),
        ({"base_url": "http://models.example.org"}, "base_url is http and not on this machine"),
        ({"base_url": "http://127.0.0.1.example.org"}, "base_url is http and not on this machine"),
        ({"base_url": f"https://me:{KEY}@example.org"}, "without user, password"),
        ({"base_url": "ftp://example.org"}, "invalid base_url: expected an address"),
        ({"base_url": 7}, "invalid base_url: expected an address"),
        ({"base_url": "https://[half"}, "invalid base_url: expected an address"),
        ({"model": "two words"}, "invalid model: expected a name"),
        ({"model": ""}, "model has no value"),
        ({"model": True}, "invalid model: expected a name"),
        ({"model": 4.10}, "model is a number: expected a name, in quotes"),
        ({"concurrency": 0}, "invalid concurrency: expected a whole number from 1 to 64"),
        ({"concurrency": 1.5}, "invalid concurrency: expected a whole number"),
        ({"timeout": "soon"}, "invalid timeout: expected a number from 0.1 to 3600"),
        ({"timeout": True}, "invalid timeout: expected a number"),
        ({"max_tokens": float("inf")}, "invalid max_tokens: expected a whole number"),
        ({"price": 3}, "invalid price: expected a mapping with input and output"),
        ({"price": {"input": 1, "output": -1}}, "invalid price output"),
        ({"price": {"input": 1, "output": 1, "cached": 1}}, "unknown price 'cached'"),
        ({"allow_http": "maybe"}, "invalid allow_http: expected true or false"),
    ],
)
def test_options_that_make_no_sense_are_named_before_anything_is_spent(name, options, said, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    if options and "key_env" not in options:
        options = {"key_env": "MODEL_KEY", **options}
    with pytest.raises(BadUsage) as refused:
        CLIENTS[name](options)
    assert said in str(refused.value)
    assert str(refused.value).startswith(name)
    assert KEY not in str(refused.value)


@pytest.mark.parametrize("value", [KEY + "\n", f" {KEY}", "schlüssel"])
def test_a_key_that_cannot_be_one_is_not_shown(name, value, monkeypatch):
    monkeypatch.setenv("MODEL_KEY", value)
    with pytest.raises(BadUsage, match="MODEL_KEY holds blanks") as refused:
        CLIENTS[name]({"key_env": "MODEL_KEY"})
    assert value.strip() not in str(refused.value)


def test_http_in_ones_own_network_is_allowed_where_it_is_said(name):
    options = {
        "base_url": "http://models.lan:8000/v1",
        "model": "m",
        "key_env": "MODEL_KEY",
        "allow_http": True,
    }
    assert CLIENTS[name](options).settings.base_url == "http://models.lan:8000/v1"


def test_a_missing_package_names_the_extra(name, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"pip install -e '\.\[llm\]' in the clone"):
        CLIENTS[name]({"key_env": "MODEL_KEY"})


def test_openai_itself_is_asked_in_its_own_way(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    asked = OpenAI({}).parameters("rubric", "message")
    assert (asked["model"], asked["reasoning_effort"]) == ("gpt-6-luna", "low")
    assert asked["messages"][0]["content"][0]["prompt_cache_breakpoint"] == {"mode": "explicit"}
    assert asked["prompt_cache_options"] == {"mode": "explicit"}
    assert "temperature" not in asked
    assert "max_tokens" not in asked


def test_a_compatible_server_is_asked_for_temperature_0_and_must_be_told_the_model():
    with ModelServer().running() as server:
        client("openai", server).evaluate(question())
        assert server.requests[0]["body"]["temperature"] == 0
        with pytest.raises(BadUsage, match="model is missing"):
            OpenAI({"base_url": server.url + "/v1"})


def test_prices_are_those_of_the_model_and_of_no_other():
    haiku = price_of("claude-haiku-5-5")
    assert haiku == price_of("claude-haiku-5-5-20261007")
    assert price_of("claude-haiku-5-5-turbo") is price_of("claude-haiku") is price_of("") is None
    assert haiku.cost(Usage(input=1_000_000)) == pytest.approx(0.50), "a long prompt costs five times as much"
    assert haiku.cost(Usage(input=100_000)) == pytest.approx(0.01)
    assert haiku.cost(Usage(input=1, cache_read=100_000)) == pytest.approx(5 * (0.1 + 1_000) / 1e6)
    assert haiku.most(50_000, 1_000) == pytest.approx((50_000 * 0.125 + 500) / 1e6)


def test_strangers_may_write_what_comes_to_a_token_for_every_byte():
    assert most_tokens("", "\U0001f600" * 100) == 400 + OVERHEAD
    assert most_tokens("plain words " * 100, "") == 600 + OVERHEAD
