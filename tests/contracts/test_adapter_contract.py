"""What every adapter promises, checked on everything that is registered."""

import inspect
import io
import random
import re
from contextlib import suppress

import pytest

from ethogram import registry
from ethogram.errors import EthogramError
from ethogram.ingest.errors import Unreadable
from ethogram.ingest.format import HEAD, Input
from ethogram.models.limits import Limits
from waiting import calls_of, ending

NAMES = registry.adapters.names()
KEYS = (b"type", b"role", b"kind", b"event", b"source", b"sessionKey", b"messages", b"version", b"name")
"""By which formats are told apart."""
HEADS = [
    *(b'{"%s": %s, "text": "hi"}' % (key, value) for key in KEYS for value in (b"{}", b"[]")),
    *(
        b"",
        b"\n",
        b"\0",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"{",
        b"[",
        b"[{",
        b'{"a"',
        b'"',
        b"null",
        b"1",
        b"PAR1",
    ),
    *(
        b"{}\n{}\n",
        b'{"subject": 1}',
        b"a,b\n1,2\n",
        b"\xff" * 500,
        b"[" * 5000,
        b'{"a":' * 5000,
        b"9" * 5000,
    ),
    *(
        b"\x1f\x8b\x08",
        b"PK\x03\x04",
        b'{"subject": "\xff"}',
        b"subject\r\n",
        b'{"trajectory": 7, "history": {}}',
    ),
]
FILE_NAMES = ["", "a", "a.jsonl", "a.csv", "a.parquet", "a.json", ".", "é\udcff", "x" * 5000]


def random_heads(count: int) -> list[bytes]:
    """Bytes that are nothing, and pieces of things that almost are something."""
    rng = random.Random(7)
    pieces = [*HEADS, b'"type"', b":", b",", b"}", b"]", b'"messages"', b'"role"', b'"at"', b"\n"]
    noise = [rng.randbytes(rng.randrange(300)) for _ in range(count // 2)]
    return noise + [b"".join(rng.choices(pieces, k=6)) for _ in range(count // 2)]


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def made(name: str):
    item = registry.adapters.get(name)
    return item() if isinstance(item, type) else item


def test_there_are_adapters():
    assert NAMES


def test_it_says_what_it_is(name: str):
    assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
    said = inspect.getdoc(type(made(name)))
    assert said
    assert len(said.partition("\n")[0]) > 10
    assert isinstance(made(name).general, bool)


def test_recognising_never_raises_and_answers_yes_or_no(name: str):
    item = made(name)
    for head in [*HEADS, *random_heads(400)]:
        assert item.recognises(head, "a.bin") in (True, False)
    for file_name in FILE_NAMES:
        assert item.recognises(b"", file_name) in (True, False)


def test_recognising_gives_the_same_twice(name: str):
    item = made(name)
    heads = [*HEADS, *random_heads(100)]
    assert [item.recognises(h, "a") for h in heads] == [item.recognises(h, "a") for h in heads]


def test_recognising_a_full_head_of_anything_is_quick(name: str):
    for piece in (b"{", b"[", b'{"a": 1}\n', b"a,b\n", b"\xff", b'"'):
        head = (piece * HEAD)[:HEAD]
        with ending(f"{name}: recognising a head of {piece!r}"):
            assert calls_of(lambda: made(name).recognises(head, "a.jsonl")) < 20_000  # noqa: B023


def test_reading_anything_gives_records_or_says_why_not(name: str):
    """Whatever the bytes: records, faults inside records, or one of our errors; never another."""
    for head in [*HEADS, *random_heads(60)]:
        value = Input(name="a", stream=io.BytesIO(head), head=head, kinds={}, limits=Limits())
        with suppress(EthogramError, Unreadable):
            for line, record, column in made(name).read(value):
                assert line >= 0
                assert column >= 0
                assert isinstance(record, (dict, str))
