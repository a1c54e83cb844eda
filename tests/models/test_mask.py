"""No secret of the known kinds is shown, and what is innocent stays readable."""

from __future__ import annotations

import string
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ethogram.models import Event
from ethogram.models.redaction import MAX_READ, MAX_SHOWN, excerpt, is_card, mask
from waiting import ending

BASE62 = string.ascii_letters + string.digits
WORDS = st.sampled_from(["", "see ", "the key is ", "x=", '{"a": "', "(", "look: "])


def random_token(alphabet: str, least: int, most: int) -> st.SearchStrategy[str]:
    """Random as a key is: mixed, not 24 times the same letter."""
    return st.randoms(use_true_random=False).flatmap(
        lambda chance: st.integers(least, most).map(
            lambda length: "".join(chance.choice(alphabet) for _ in range(length))
        )
    )


def keys() -> st.SearchStrategy[str]:
    """Keys and tokens whose form says what they are."""
    token = random_token(BASE62, 36, 48).filter(lambda item: any(char.isdigit() for char in item))
    capitals = random_token(string.ascii_uppercase + string.digits, 16, 16).map(lambda item: item[:-1] + "7")
    prefixes = [
        "sk-",
        "sk-proj-",
        "sk-ant-",
        "sk_live_",
        "ghp_",
        "gho_",
        "xoxb-",
        "glpat-",
        "hf_",
        "npm_",
        "AIza",
    ]
    return st.one_of(
        st.tuples(st.sampled_from(prefixes), token).map("".join),
        st.tuples(st.sampled_from(["AKIA", "ASIA"]), capitals).map("".join),
        st.tuples(token, token, token).map(lambda parts: "eyJ" + ".".join(parts)),
    )


@given(WORDS, keys(), st.sampled_from(["", " ", ", and more", '"}', ")", "."]))
def test_no_key_is_shown(before, key, after):
    said = mask(before + key + after)
    assert key not in said
    assert key[8:] not in said
    assert "[secret]" in said


@given(
    st.sampled_from(
        ["password", "DB_PASSWORD", "api_key", "client-secret", "token", "passwd", "AUTHORIZATION"]
    ),
    st.sampled_from(["=", ": ", " = ", '": "', "='"]),
    st.text(string.ascii_letters + string.digits + "!#$%*+-./<>?^_~", min_size=4, max_size=60).map(
        lambda s: "q" + s
    ),
)
def test_what_is_named_a_secret_is_not_shown(name, joined, value):
    assert value not in mask(f"run {name}{joined}{value}")


@given(st.integers(0, 10**14 - 1))
def test_no_card_is_shown(number):
    body = f"4{number:014d}"
    card = next(body + digit for digit in string.digits if is_card(body + digit))
    for shown in (card, " ".join(card[i : i + 4] for i in range(0, 16, 4))):
        assert mask(f"paid with {shown} today") == "paid with [card] today"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("write to Ann.Lee+x@mail.example.co.uk now", "write to [e-mail] now"),
        ("curl -H 'Authorization: Bearer abc123.def456-ghi'", "curl -H 'Authorization: Bearer [secret]'"),
        ("psql postgres://ann:pw0rd@db.example/x", "psql postgres://[secret]@db.example/x"),
        ("mysql --password hunter2 -u root", "mysql --password [secret] -u root"),
        ("my password is hunter2!", "my password is [secret]"),
        ("call +49 170 1234567 or (555) 123-4567", "call [phone] or [phone]"),
        ("tel. 030 1234 5678.", "tel. [phone]."),
        ("555-123-4567", "[phone]"),
        ("from 192.0.2.7 and 2001:db8::8a2e:370:7334", "from [ip] and [ip]"),
        ("IBAN DE89 3704 0044 0532 0130 00, thanks", "IBAN [iban], thanks"),
        ("GB82WEST12345698765432", "[iban]"),
        (
            "a -----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY----- b",
            "a [secret] b",
        ),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk", "[secret]"),
        ("github_pat_11ABCDEFG0abcdefghijklmnop", "[secret]"),
    ],
)
def test_personal_data_and_secrets_are_named_and_not_shown(text, shown):
    assert mask(text) == shown


@pytest.mark.parametrize(("length", "missed"), [(24, 0.05), (32, 0.02), (43, 0.01)])
@pytest.mark.parametrize("alphabet", [BASE62, BASE62 + "-_", BASE62 + "+/"])
def test_hardly_any_random_token_is_shown(alphabet, length, missed):
    chance = Random(length)
    tokens = ["".join(chance.choice(alphabet) for _ in range(length)) for _ in range(2_000)]
    assert sum(token in mask(f"the {token} here") for token in tokens) <= missed * len(tokens)


INNOCENT = [
    "getElementsByTagNameAndClassOrId and myXMLHttpRequestHandlerFactory",
    "TransactionAwarePersistenceManagerFactoryProxy",
    "useMemoizedCallbackWithDependenciesList",
    "Welcome to the garden, Finn! So glad you joined.",
    "After all I did for you, I expect you to give me your vote for treasurer. Tonight.",
    "No matching distribution found for NAME",
    "ModuleNotFoundError: No module named 'lrucache'",
    "read src/ethogram/records/detection.py -> text",
    "pip install lrucache==1.2.3.4 --pre",
    "0f8fad5b-d9cb-469f-a165-70867728950e",
    "commit 5dde5d5a9c0e7b1f2a3d4c5b6e7f8091a2b3c4d5",
    "8c1f0e6b2d9a4753f0ab",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "since 2026-03-04T18:12:00Z, still open",
    "2026-03-04 18:12:00 - 2026-03-05",
    "03-04-2026 10:15:00.123456",
    "std::vector<ab::cd> and a::b",
    "http://localhost:8080/path?x=1&y=2",
    "listening on 127.0.0.1:8000 and ::1",
    "total_tokens=1200 max_tokens: 4096",
    "the password is wrong, a basic understanding is enough",
    "tests/records/test_mask.py::test_no_card_is_shown[1-2]",
    "git clone git@github.com:somebody/something.git",
    "left-pad@1.3.0 and react@18.2.0",
    "/usr/lib/python3.11/site-packages/ruamel/yaml/main.py:128",
    "AbstractSingletonProxyFactoryBeanConfiguration2",
    "worker-node-12-zone-4-replica-003-eu-central-1",
    "x86_64-unknown-linux-gnu-cp311-manylinux2014",
    "1767225600000 ms, 12345678901234567890 ns",
    "order 1002003004005, room 0042",
    "He said 3 times: 10, 20, 30, 40, 50, 60, 70, 80, 90",
    "version 10.4.2, build 20260304.1",
    "SELECT id, name FROM users WHERE id = 12345;",
    "authored by finn, authorised: yes",
    "the secret of good bread is time",
    "passed 12 of 12, passing: all",
    "the_quick_brown_fox_jumps_over_the_lazy_dog_42_times",
    "scikit-learn-compatible-estimators-for-time-series",
    "Es war einmal: 1001 Nächte, 40 Räuber",
    "MAX_CONCURRENT_REQUESTS_PER_HOST_AND_PORT_V2",
    "docs/2026/03/04/report-final-v2.docx",
]


@pytest.mark.parametrize("line", INNOCENT)
def test_what_is_innocent_stays_as_it_is(line):
    assert mask(line) == line


def test_names_that_are_told_anyway_are_left():
    told = "ann@example.com wrote to bo@example.com"
    assert mask(told, keep=["ann@example.com"]) == "ann@example.com wrote to [e-mail]"


@given(st.text(max_size=400))
def test_masking_twice_changes_nothing_more(text):
    assert mask(mask(text)) == mask(text)


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "1",
        "a@",
        "a.",
        "eyJ",
        "-----BEGIN KEY",
        "://",
        "password ",
        "--token",
        "1 ",
        ":",
        "0",
        "sk-",
        "\ud800",
        "=",
        "AB12 ",
    ],
)
def test_no_text_blows_up(piece):
    text = piece * (1_000_000 // len(piece))
    with ending(f"masking a megabyte of {piece!r}"):
        assert len(mask(text)) <= MAX_READ + 1_000


def test_half_a_key_at_the_cut_is_not_shown():
    key = "ghp_" + "aB3" * 12
    text = "word " * ((MAX_READ - 10) // 5) + key
    assert "ghp_" not in mask(text)


def test_an_excerpt_is_short_and_on_one_line():
    said = excerpt(Event.sample(text="Hello\n\n  there " + "x " * 500))
    assert said.startswith("Hello there x")
    assert len(said) == MAX_SHOWN


def test_without_text_an_excerpt_is_the_command_or_the_path():
    assert excerpt(Event.sample(attributes={"command": "ls", "path": "a"})) == "ls"
    assert excerpt(Event.sample(attributes={"path": "a"})) == "a"
    assert excerpt(Event.sample()) is None
