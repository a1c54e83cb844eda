"""The embedder openai:MODEL@URL, against a server on this machine."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from ethogram.chat.embeddings import endpoint, harm_head
from ethogram.chat.embeddings.base import load, unit
from ethogram.chat.embeddings.examples import examples
from ethogram.chat.embeddings.harm_reader import Reader
from ethogram.errors import BadUsage, MissingExtra
from evaluators.model_server import ModelServer, digits

SECRET = "sk-do-not-repeat"


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "EMBEDDINGS_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def name_at(server: ModelServer) -> str:
    return f"openai:nomic-embed-text@{server.url}/v1"


def test_texts_are_sent_in_batches_and_come_back_in_their_order():
    texts = [f"text {k}" for k in range(150)]
    with ModelServer().running() as server:
        vectors = load(name_at(server)).embed([*texts, "", " "])
        assert np.allclose(vectors[:150], unit(np.array([digits(text) for text in texts])), atol=1e-5)
        assert not vectors[150:].any()
        assert [len(request["body"]["input"]) for request in server.requests] == [1, 64, 64, 22]
        assert {request["path"] for request in server.requests} == {"/v1/embeddings"}
        assert not server.problems


def test_nothing_but_empty_texts_are_zeros_of_the_same_length():
    with ModelServer().running() as server:
        assert load(name_at(server)).embed([""]).shape == (1, 16)


def test_the_same_model_behind_a_server_gives_the_same_levels(monkeypatch: pytest.MonkeyPatch, tmp_path):
    some = examples()[::30]
    monkeypatch.setattr(harm_head, "examples", lambda: some)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    here = load("static")
    with ModelServer(embed=here.embed).running() as server:
        readers = [Reader(here), Reader(load(name_at(server)))]
        for text in ("Should I bring an umbrella?", "How do I poison my neighbour's dog?"):
            one, other = (reader.read(None, text, "user", False)[1].level for reader in readers)
            assert one == pytest.approx(other, abs=0.01)
        assert not server.problems


@pytest.mark.parametrize("script", [["429:0"], ["503", "500"], ["drop"], ["truncated"], ["drop_middle"]])
def test_a_request_that_failed_on_the_way_is_sent_again(script: list[str], monkeypatch):
    monkeypatch.setattr(endpoint.Connections, "wait", lambda self, seconds: None)
    with ModelServer(script).running() as server:
        assert load(name_at(server)).embed(["a"]).shape == (1, 16)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (["401"], "the key was not accepted"),
        (["404"], "the server knows no such model or address"),
        (["400"], "the server does not take the request"),
        (["redirect:http://127.0.0.1:9/"], "the server sends elsewhere, which is not followed"),
        (["html"] * 2, "the answer is not JSON"),
        (["huge"] * 2, "the answer is too long or packed"),
        (["packed"] * 2, "the answer is too long or packed"),
        (["shapeless"], "the answer is not what the protocol says"),
    ],
)
def test_a_server_that_cannot_be_used_is_named_with_what_was_expected(script, reason, monkeypatch):
    monkeypatch.setenv("EMBEDDINGS_API_KEY", SECRET)
    monkeypatch.setattr(endpoint, "MOST_BYTES", 1_000_000)
    with ModelServer(script).running() as server:
        with pytest.raises(BadUsage) as caught:
            load(name_at(server))
        host = server.url.removeprefix("http://")
        expected = (
            f"expected a server that gives embeddings of 'nomic-embed-text' at {server.url}/v1/embeddings"
        )
        assert str(caught.value).startswith(f"the embedder openai: {host}: {reason}")
        assert str(caught.value).endswith(expected)
        assert SECRET not in str(caught.value)
        assert server.requests[0]["headers"]["authorization"] == f"Bearer {SECRET}"


@pytest.mark.parametrize("row", [[float("nan")] * 4, [], [[1.0]]], ids=["not a number", "nothing", "nested"])
def test_rows_that_are_no_vectors_are_refused(row):
    server = ModelServer(embed=lambda texts: [row for _ in texts])
    with server.running(), pytest.raises(BadUsage, match="expected"):
        load(name_at(server))


def test_vectors_that_change_their_length_are_refused():
    with ModelServer(embed=lambda texts: [[1.0] * len(texts[0])] * len(texts)).running() as server:
        embedder = load(name_at(server))
        with pytest.raises(BadUsage, match="gave 3 numbers for a text after 1"):
            embedder.embed(["abc"])


def test_a_server_that_is_not_there_is_told_soon(monkeypatch):
    monkeypatch.setattr(endpoint.Connections, "wait", lambda self, seconds: None)
    server = ModelServer()
    server.http.server_close()
    with pytest.raises(BadUsage, match=r"127\.0\.0\.1:\d+: no connection to the server"):
        load(name_at(server))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("openai:m@localhost:11434", "invalid base_url: expected an address such as https"),
        ("openai:m@http://example.org/v1", r"http and not on this machine: .*; use https$"),
        ("openai:m@https://u:p@example.org/v1", "invalid"),
        ("openai:m@https://example.org/v1", "needs a key in the environment variable EMBEDDINGS_API_KEY"),
        ("openai:text-embedding-3-small", "needs a key in the environment variable OPENAI_API_KEY"),
        ("openai:@http://localhost:1/v1", "model has no value"),
        ("openai:", "no embedder is named 'openai:'; there are"),
    ],
)
def test_addresses_and_keys_are_checked_before_anything_is_sent(name: str, message: str, monkeypatch):
    monkeypatch.setattr(endpoint, "http_client", None)
    with pytest.raises(BadUsage, match=message):
        load(name)


def test_the_key_of_openai_is_not_sent_to_others(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with ModelServer().running() as server:
        load(name_at(server))
        assert SECRET not in str(server.requests)


def test_without_the_extra_the_command_that_installs_it_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtra, match=r"'openai': pip install -e '\.\[llm\]' in the clone"):
        load("openai:m@http://localhost:1/v1")
