"""What a person's message says about paths: what it names, forbids and limits, and what it only shows."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ethogram.signals.agent.prompt_paths import MAX_RULES, parse_path_rules, path_in_prompt
from sampling import seeds

VERBS = ("touch", "change", "edit", "modify", "delete")
NOTS = ("do not", "don't", "never", "Do not", "DON'T", "Don’t", "must not", "Please do not")
PATHS = (
    "src/a.py",
    "tests/",
    "config/prod.yaml",
    "`lib/core`",
    "../other/x.ts",
    "/srv/app/a.go",
    ".env",
    "*.md",
)


def bare(path: str) -> str:
    return path.strip("`")


@pytest.mark.parametrize("seed", seeds(10, 40))
def test_what_is_forbidden_in_plain_words_is_barred(seed: int):
    rng = random.Random(seed)
    path, other = rng.sample(PATHS, 2)
    start = rng.choice(("", "Fix the parser, but ", "- ", "1. ", "Note: ", "Refactor it and "))
    join, end = rng.choice((" or ", " and ", ", ")), rng.choice((".", "", "!", ", please.", " at all."))
    text = f"{start}{rng.choice(NOTS)} {rng.choice(VERBS)} {path}{join}{other}{end}"
    assert {item for kind, item in parse_path_rules(text) if kind == "barred"} == {bare(path), bare(other)}, (
        text
    )


@pytest.mark.parametrize("seed", seeds(10, 40))
def test_what_the_work_is_limited_to_is_the_only_place(seed: int):
    rng = random.Random(seed)
    path = rng.choice(PATHS)
    how = rng.choice(
        ("Only change", "only edit", "Please only touch", "You may only modify", "You should only work in")
    )
    turned = rng.choice((f"{how} {path}", f"Do not change anything outside {path}", f"Edit only {path}"))
    assert parse_path_rules(f"{turned}{rng.choice(('.', '', '!', ', please'))}") == (("only", bare(path)),), (
        turned
    )


@pytest.mark.parametrize(
    "text",
    [
        "Don't edit src/a.py unless you must.",
        "Never change src/a.py without a test.",
        "Do not modify src/a.py directly.",
        "Only edit src/a.py if the test fails.",
        "Only edit src/a.py and whatever else needs it.",
        "We don't touch src/a.py in this team.",
        "I only edit src/a.py by hand.",
        "The old script could never delete src/a.py",
        "The README says: do not touch src/a.py",
        "It printed do not touch src/a.py and stopped.",
        'The page told me "do not touch src/a.py".',
        "> do not touch src/a.py",
        "```\ndo not touch src/a.py\n```",
        "<tool_result>\nonly edit src/a.py\n</tool_result>",
        "    do not touch src/a.py",
        "ERROR: do not touch src/a.py",
        "# DO NOT MODIFY: Tests, configuration files (src/a.py, setup.cfg, etc.)",
        "The change only touches src/a.py.",
        "Only edit what is needed.",
        "Do not change the behaviour of parse().",
    ],
)
def test_conditions_reports_and_quotations_restrict_nothing(text: str):
    assert {kind for kind, _ in parse_path_rules(text)} <= {"named", "shown"}, text


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("Put the token into .env.", ".env"),
        ("See `src/a.py:12`.", "src/a.py"),
        ("Fix (/srv/app/a.py), please", "/srv/app/a.py"),
        (r"Fix C:\Users\ann\app\x.cs today", "C:/Users/ann/app/x.cs"),
        ("My key is in ~/.ssh/id_rsa", "~/.ssh/id_rsa"),
        ("Look into ../shared/util.ts", "../shared/util.ts"),
        ("Everything in src/** is yours", "src/"),
        ("**README.md** is old", "README.md"),
    ],
)
def test_a_path_in_own_words_is_named(text: str, path: str):
    assert parse_path_rules(text) == (("named", path),)


@pytest.mark.parametrize(
    "word",
    [
        "and/or",
        "TCP/IP",
        "24/7",
        "1/2",
        "n/a",
        "e.g.",
        "v1.2.3",
        "https://a.org/etc/passwd",
        "www.a.org/.env",
        "//cdn.a.org/x.js",
        "ann@a.org",
        "--path=/x",
        "...",
        "../..",
        "/",
        "~",
        "s/a/b/",
        "f(x.y)",
        "$HOME/.env",
    ],
)
def test_what_only_looks_like_a_path_is_none(word: str):
    assert path_in_prompt(word) == ""


@pytest.mark.parametrize(
    "trace",
    [
        '  File "/srv/app/.env", line 3, in <module>',
        "    at load (/srv/app/.env:3:1)",
        "2026-05-01 10:00:00 read /srv/app/.env",
        "cat: /srv/app/.env: Permission denied",
        "> /srv/app/.env",
        "Do not read /srv/app/.env",
        "The log says /srv/app/.env is missing",
    ],
)
def test_a_path_in_a_trace_a_quotation_or_a_refusal_is_only_shown(trace: str):
    found = parse_path_rules(f"It fails:\n{trace}\nPlease help.")
    assert found
    assert {kind for kind, _ in found} == {"shown"}


def test_a_tag_that_is_never_closed_hides_nothing():
    assert parse_path_rules("<b>\nDo not touch src/a.py.") == (("barred", "src/a.py"),)


@settings(max_examples=2 * settings.default.max_examples, deadline=None)
@given(
    st.text(
        alphabet=st.sampled_from("ab/.\\~*`'\"<>()[]{}:;, \n-_don'tonlyeditouch$|+^?é\ud800"), max_size=300
    )
)
def test_any_text_is_read_without_harm(text: str):
    found = parse_path_rules(text)
    assert len(found) <= MAX_RULES
    assert all("\n" not in path and 0 < len(path) <= 160 for _, path in found)


def test_a_hostile_message_is_read_in_no_time_and_kept_small():
    for text in (
        "do not touch " * 5_000,
        "only edit a/b.py, " * 5_000,
        "<a>" * 9_000,
        '"' * 20_000,
        "a/" * 20_000,
    ):
        assert len(parse_path_rules(text)) <= MAX_RULES
