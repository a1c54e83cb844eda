"""The rules of masking: what a secret or personal datum looks like, and the word that takes its place.

Repetitions are bounded or end where a token ends, so that no text takes more than linear time.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .mask_forms import iban_length, is_card, is_ip, is_loud
from .rule import Rule

Match = re.Match[str]

SECRET = "[secret]"

_NAMES = (
    r"pass(?:word|wd|phrase|code)?|pwd|secret|token|credentials?|api[_-]?key|access[_-]?key"
    r"|secret[_-]?key|private[_-]?key|account[_-]?key|auth(?:orization)?"
)
_GIVEN = r"(?!\[secret\])(?:\"[^\"]{1,500}\"?|'[^']{1,500}'?|[^\s\"',;&]{1,500})"
_KEYS = "|".join(
    (
        r"(?:sk|pk|rk)[-_](?:[A-Za-z]{2,10}[-_])?[A-Za-z0-9_-]{16,}",
        r"gh[pousr]_[A-Za-z0-9]{20,}",
        r"github_pat_[A-Za-z0-9_]{20,}",
        r"glpat-[A-Za-z0-9_-]{20,}",
        r"(?:AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{12,}",
        r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
        r"AIza[A-Za-z0-9_-]{30,}",
        r"ya29\.[A-Za-z0-9_-]{20,}",
        r"npm_[A-Za-z0-9]{30,}",
        r"pypi-[A-Za-z0-9_-]{50,}",
        r"hf_[A-Za-z0-9]{20,}",
        r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
        r"eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*)?",
    )
)


def _always(word: str) -> Callable[[Match], str]:
    return lambda _: word


def _if(test: Callable[[str], bool], word: str) -> Callable[[Match], str]:
    return lambda match: word if test(match[0]) else match[0]


def _value(match: Match) -> str:
    """The name and what joins it to the value, without the value."""
    return f"{match[1]}{SECRET}"


def _likely_value(match: Match) -> str:
    """Likewise, where the value looks like one and not like the next word of a sentence."""
    told = match[2]
    likely = len(told) >= 20 or re.search(r"[\d!#$%^&*+=]", told)
    return _value(match) if likely else match[0]


def _has_digit(text: str) -> bool:
    return any(char.isdigit() for char in text)


def _iban(match: Match) -> str:
    length = iban_length(match[0])
    return match[0] if length is None else f"[iban]{match[0][length:]}"


def _is_mail(text: str) -> bool:
    return not text.startswith("git@")


_PRIVATE_KEY = r"(?s)-----BEGIN [A-Z0-9 ]{0,40}KEY[A-Z ]{0,10}-----.*?(?:-----END [A-Z0-9 ]{0,50}-----|\Z)"
_NAMED = rf"(?i)([\w-]{{0,40}}(?:{_NAMES})[\"']?\s{{0,3}}[:=]\s{{0,3}})(?!bearer\s|basic\s){_GIVEN}"
_OPTION = rf"(?i)(--?(?:{_NAMES})\s{{1,3}})(?!-){_GIVEN}"
_BEARER = r"(?i)\b((?:bearer|basic)\s{1,3})([A-Z0-9._~+/=-]{8,})"
_TOLD = r"(?i)(\bpass(?:word|phrase|code)\s{1,3}is:?\s{1,3})(\S{1,200})"
_IPV6 = r"(?<![\w:.])[0-9A-Fa-f:]{3,39}(?:(?<=:)(?:\d{1,3}\.){3}\d{1,3})?(?![\w:])"

_LOGIN = (
    r"(?i)((?:^|[\s;|&(])(?:-u|--user)[ =]?['\"]?[\w.@-]{1,64}:"
    r"|\b(?:mysql\w*|mariadb|mongo\w*|sshpass|psql)\b[^\n;|&]{0,80}?\s-p\s?)(?!\s)[^\s;|&]{3,200}"
)
"""What stands behind a name after -u, and behind -p of programs that take a password there."""

RULES: tuple[tuple[Rule, Callable[[Match], str]], ...] = (
    (Rule(_PRIVATE_KEY), _always(SECRET)),
    (Rule(r"(://)[^\s/@]{1,500}(?=@)"), _value),
    (Rule(_BEARER), _likely_value),
    (Rule(_NAMED), _value),
    (Rule(_OPTION), _value),
    (Rule(_LOGIN), _value),
    (Rule(_TOLD), _likely_value),
    (Rule(rf"(?<![A-Za-z0-9])(?:{_KEYS})"), _if(_has_digit, SECRET)),
    (Rule(r"[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[A-Za-z]{2,24}"), _if(_is_mail, "[e-mail]")),
    (Rule(r"(?<![\w+/=-])[A-Za-z0-9+/_=-]{24,}"), _if(is_loud, SECRET)),
    (Rule(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b"), _iban),
    (Rule(r"(?<![\d.])\d(?:[ -]?\d){12,18}(?!\d)"), _if(is_card, "[card]")),
    (Rule(r"(?<![\w.])(?<!==)(?:\d{1,3}\.){3}\d{1,3}(?!\w|\.\d)"), _if(is_ip, "[ip]")),
    (Rule(_IPV6), _if(is_ip, "[ip]")),
    (Rule(r"(?<![\w+])\+\d(?:[ ().-]{0,2}\d){6,14}(?!\d)"), _always("[phone]")),
    (Rule(r"(?<![\w.-])(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\w-])"), _always("[phone]")),
    (Rule(r"(?<![\w.:-])0[1-9](?:[ /-]?\d){8,10}(?![\w:-]|\.\d)"), _always("[phone]")),
)
"""In this order: what names a secret before what only looks like one."""
