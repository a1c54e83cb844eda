"""The signals step_key, talk_key and complaint_key: equal steps, messages and complaints have equal keys."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from heapq import nsmallest
from zlib import crc32

from ...models import Event, micros
from ...models.lazy_regex import Rule
from ..base import short, signal
from ..options import Options
from .errors import CANCELLED, normalized_error
from .normalization import call_hash, cleaned, cleaned_call, digest, short_hash
from .step import Call, Step, argument_text, read_step, words

# step_key.

COMMENTS = words(
    "thought thoughts reasoning reason description explanation rationale comment security_risk "
    "summary timeout timeout_ms"
)
"""Arguments that say why, not what."""
THOUGHTS = words("thought thoughts reasoning")
SHOWN_STEP = 48
MAX_THOUGHTS = 16
MAX_BATCH = 32
NO_ERROR = short_hash("")

Batch = tuple[str, tuple[str, ...]]
StepState = tuple[Batch, tuple[str, ...]]
"""The current batch and its keys; hashes of the thoughts so far."""


def call_key(step: Step, options: Options) -> tuple[str, str, bool]:
    """Return what is shown of a call, a hash of all of it, and whether it is only a thought."""
    strength = options.normalization
    # Where a tool takes nothing but comments, they are what it does.
    exclude = frozenset[str]() if COMMENTS.issuperset(step.arguments) else COMMENTS
    text = argument_text(step.arguments, exclude) if step.arguments else f"{step.command} {step.path}"
    hint = step.command or step.path or text
    shown = cleaned_call(f"{step.tool} {hint[: 2 * SHOWN_STEP]}", strength)[:SHOWN_STEP].strip()
    is_thought = bool(step.arguments) and THOUGHTS.issuperset(step.arguments)
    return shown or "step", call_hash(f"{step.tool}\n{text}", strength), is_thought


@signal(
    "step_key",
    range=None,
    version=3,
    needs=("person_messages",),
    kinds=("action", "result"),
    summarize=call_key,
)
class StepKey:
    """The action and its result, without what varies by chance.

    Thoughts beside other arguments do not count, nor do temporary names, nor times and ids in results. Equal
    steps of one batch count once, and no step equals one from before a person's message. A call that is only
    a thought is no step until the thought recurs. Absent where nothing was recorded of the result; as long
    as a run has had no result, where nothing was recorded of the call either.
    """

    scope = "run"
    start: StepState = (("", ()), ())
    max_state_bytes = 8_000

    def measure(
        self, event: Event, state: StepState, call: Call, options: Options
    ) -> tuple[str | None, StepState]:
        step, (shown, hashed, is_thought), own = call
        if step is None or not (step.is_recorded or (step.is_call and _says_something(step))):
            return None, state
        batch, thoughts = state
        if is_thought and hashed not in thoughts:
            return None, (batch, (*thoughts, hashed)[-MAX_THOUGHTS:])
        result = _result(step, options.normalization) if step.is_recorded else "-"
        said = event.readings.get("person_messages", 0.0)
        key = f"{shown} #{short_hash(f'{hashed}{result} {said}')}"
        keys = batch[1] if own == batch[0] else ()
        if key in keys:
            return None, ((own, keys), thoughts)
        return key, ((own, (*keys, key)[-MAX_BATCH:]), thoughts)


def _says_something(step: Step) -> bool:
    """Whether more is known of a call than its tool."""
    return bool(step.command or step.path) or any(
        value not in (None, "") for value in step.arguments.values()
    )


def _result(step: Step, strength: str) -> str:
    # The full length stands for the rest of a result that was cut.
    length = step.length if step.length > len(step.result) else 0
    error = digest(step.error, strength) if step.error else NO_ERROR
    return f"{digest(step.result, strength)} {step.exit_code} {error} {length}"


# talk_key.

MIN_TEXT = 12
"""Characters of a message; shorter ones are repeated by anybody."""
SHOWN_TEXT = 40
COMPARED_TEXT = 600
"""Characters compared at either end of a message."""
MAX_SHINGLES = 48
"""Of a message: those with the smallest hashes, which estimates the overlap of two messages."""
NEAR_IDENTICAL = 0.6
"""Share of common shingles: one word in twelve may differ."""
SHORT_TEXT = 24
"""Words of a message that is compared word by word, in any order."""
SAME_WORDS = 0.75
"""Share of common words of short messages."""
NUMBER = 1 << 32
"""Added to the hash of a word with a digit: messages with other numbers say something else."""
MAX_SPEAKERS = 6
MAX_ASKED = 8
COPIED_TEXT = 200
"""Characters from which an untimed message that recurs word for word at once is the same line of a log."""
COPIED_US = 50_000
"""Microseconds within which a timed message that recurs word for word is the same line of a log."""
MAX_COPIED = 2
"""Messages in a row that all came twice or more: from then on it is the log that repeats itself."""
MAX_LOOPS = 5
"""Messages an agent may say three times in a run before further ones are left to the reader."""
IN_A_ROW = 3

Message = tuple[str, Sequence[int]]
"""A digest of a message and its shingles; messages of users have no shingles."""
Speaker = tuple[str, Message, Message | None, str, int, int]
"""An agent, its newest message, what it answered, the key of that message, how often in a row it came, and
how many messages of the agent came IN_A_ROW times."""
Line = tuple[str, str, int | None, int, int]
"""The newest message as a line of a log: its subject, a digest of its text, its time in microseconds (None:
untimed), how many copies of it followed, and how many messages in a row before it had copies."""
TalkState = tuple[
    tuple[str, Message] | None, Message | None, tuple[Speaker, ...], tuple[str, ...], Line | None
]
"""The newest message with its subject; the newest before it by another; agents; what users said; the line."""


@signal("talk_key", range=None, version=4, kinds=("message", "condensation"), reads=("text",))
class TalkKey:
    """What an agent says without acting, or that its memory was condensed.

    Near-identical messages in a row have equal keys, unless what they answer differs: a person's message
    makes the next one new. A message of the role user counts as automated where it repeats an earlier one
    word for word, or complains about the agent's output. Absent for messages not marked as an assistant's,
    for copies of one line of a log, and once five messages of an agent came three times in a run.
    """

    scope = "thread"
    start: TalkState = (None, None, (), (), None)
    max_state_bytes = 16_000

    def measure(self, event: Event, state: TalkState, options: Options) -> tuple[str | None, TalkState]:
        if event.kind == "condensation":
            return "condensation", (*state[:-1], None)
        role, text = event.attributes.get("role"), (event.text or "").strip()
        if role not in ("assistant", "user") or len(text) < MIN_TEXT:
            return None, state
        newest, other, speakers, asked, line = state
        subject, hashed = short(event.subject), digest(text[:20_000].casefold(), options.normalization)
        heard = newest[1] if newest is not None and newest[0] != subject else other
        if role == "user":
            if is_complaint(text):
                said: Message = ("complaint", ())
            else:
                said = (hashed if hashed in asked else f"{hashed}?", ())
                asked = (*asked, hashed)[-MAX_ASKED:]
            return None, ((subject, said), heard, speakers, asked, None)
        is_copy, line = _copied(line, event, subject, text)
        if is_copy:
            return None, (newest, other, speakers, asked, line)
        said = (hashed, shingles(text, options.normalization))
        own = next((speaker for speaker in speakers if speaker[0] == subject), None)
        times, loops = 1, own[5] if own is not None else 0
        if own is not None and _alike(own[1], said) and _alike(own[2], heard):
            key, times = own[3], own[4] + 1
            loops += times == IN_A_ROW
        else:
            answered = heard[0] if heard is not None else ""
            key = f"{_shown(text)} #{short_hash(f'{hashed} {answered}')}"
        others = tuple(speaker for speaker in speakers if speaker is not own)
        speakers = (*others[1 - MAX_SPEAKERS :], (subject, said, heard, key, times, loops))
        return key if loops <= MAX_LOOPS else None, ((subject, said), heard, speakers, asked, line)


def _copied(line: Line | None, event: Event, subject: str, text: str) -> tuple[bool, Line]:
    """Return whether a message is only a copy of the line before it in the log, and the line.

    It is where nothing was said between, the texts are equal, and nobody could have said it twice in
    that time; without times, where the text is long, or the messages before it all came several times.
    """
    hashed, at = short_hash(text), micros(event.at) if event.timed else None
    if line is None or line[:2] != (subject, hashed):
        copied = line[4] + 1 if line is not None and line[3] else 0
        return False, (subject, hashed, at, 0, copied)
    _, _, before, copies, copied = line
    if at is None or before is None:
        is_copy = len(text) >= COPIED_TEXT or copied >= MAX_COPIED
    else:
        is_copy = at - before <= COPIED_US
    return is_copy, (subject, hashed, at, copies + 1, copied)


def shingles(text: str, strength: str = "medium") -> tuple[int, ...]:
    """Return hashes of three words in a row, the smallest of them; of a short text those of its words.

    >>> shingles("one two") == shingles("two, one."), len(shingles("one two " * 20))
    (True, 2)
    """
    if len(text) > 2 * COMPARED_TEXT:
        text = f"{text[:COMPARED_TEXT]} {text[-COMPARED_TEXT:]}"
    split = cleaned(text.casefold(), strength).encode("utf-8", "replace").split()
    if len(split) <= SHORT_TEXT:
        words = {word.strip(b".,;:!?()\"'`*") for word in split} - {b""}
        return tuple(sorted(crc32(word) + NUMBER * any(48 <= byte < 58 for byte in word) for word in words))
    hashes = [crc32(word) for word in split]
    triples = zip(hashes, hashes[1:], hashes[2:], strict=False)
    return tuple(
        nsmallest(MAX_SHINGLES, {(a * 5 + b * 3 + c) * 0x9E3779B1 & 0xFFFFFFFF for a, b, c in triples})
    )


def _alike(a: Message | None, b: Message | None) -> bool:
    """Whether two messages are equal or near-identical; nothing is alike to nothing."""
    if a is None or b is None:
        return a is b
    if a[0] == b[0]:
        return True
    if max(len(a[1]), len(b[1])) <= SHORT_TEXT and any(word >= NUMBER for word in {*a[1]} ^ {*b[1]}):
        return False
    union = sorted({*a[1], *b[1]})[:MAX_SHINGLES]
    needed = SAME_WORDS if len(union) <= SHORT_TEXT else NEAR_IDENTICAL
    return bool(union) and len({*a[1]} & {*b[1]} & {*union}) >= needed * len(union)


def _shown(text: str) -> str:
    return " ".join(text[: 2 * SHOWN_TEXT].split())[:SHOWN_TEXT]


# complaint_key.

COMPLAINT_TEXT = 400
"""Characters at the start of a reply that can say what is wrong with the agent's output."""
MAX_COMPLAINT = 120

# What the scaffold looked for, what is wrong with it, and that the agent is told so.
_CALL = (
    r"(?:tool|function)[ _-]?(?:calls?|use)\b|(?<!generating )(?:llm|model|ai) (?:output|response|answer)\b"
    r"|(?:code|action|command) (?:block|blob|cell|snippet)s?\b|(?:triple )?backticks\b"
    r"|\baction:|\baction input\b|\bno (?:\w+ ){0,2}code (?:from|in|was|to)\b"
    r"|(?:code|output|response|answer|json|xml|tool) pars(?:ing|er?)\b"
)
_ANSWER = (
    r"\b(?:response|answer|output|reply|actions?|commands?|arguments?|json|xml|yaml|schema|tags?)\b"
    r"|(?<!error )\bcode\b|\b(?:your|last|previous) message\b|\bformat(?:ted|ting)?\b"
)
_FAULT = (
    r"\b(?:no|not|none|without|missing|lacks?|lacked|invalid|malformed|incorrect|incorrectly|wrong|ill-formed|empty"
    r"|errors?|exactly (?:one|1|a single)|at least (?:one|1)|more than (?:one|1)|multiple|expected|unparsable"
    r"|unable to|failed to|cannot|could not|did not|does not|do not)\b|n't\b"
)
_PARSE = (
    r"\b(?:pars(?:e|ed|ing|able)|decoded?|extract(?:ed)?|recogni[sz]ed?|interpret(?:ed)?|format(?:ted)?"
    r"|valid|invalid|malformed)\b"
)
_TO_AGENT = (
    r"\b(?:you|your|please|must|always"
    r"|(?:previous|last|in|from)(?: the)? (?:response|answer|output|reply|message))\b"
)
_SENTENCE = Rule(r"[.!?](?=\s)|\n+")
_CALLS, _ANSWERS, _FAULTS = Rule(_CALL, re.I), Rule(_ANSWER, re.I), Rule(_FAULT, re.I)
_PARSING, _TOLD = Rule(_PARSE, re.I), Rule(_TO_AGENT, re.I)


@lru_cache(maxsize=256)  # scaffolds repeat themselves
def is_complaint(text: str) -> bool:
    """Return whether a reply says that the agent's output had no tool call, or could not be read.

    >>> is_complaint("No tool call found in your response."), is_complaint("tests/a.py: cannot parse")
    (True, False)
    """
    head = text[:COMPLAINT_TEXT]
    if not _FAULTS.search(head):  # as mostly
        return False
    is_told = _TOLD.search(head) is not None
    for sentence in _SENTENCE.split(head):
        if not _FAULTS.search(sentence):
            continue
        if _CALLS.search(sentence):
            return True
        if is_told and _ANSWERS.search(sentence) and _PARSING.search(sentence):
            return True
    return False


ComplaintState = tuple[str, str]
"""The agent whose message is the newest act, and the complaint about it; both may be ''."""


@signal("complaint_key", range=None, kinds=("action", "result", "message"))
class ComplaintKey:
    """What a scaffold says is wrong with the form of the agent's output, without numbers.

    At a result that says so, and at an agent's message without an action that follows such a reply.
    """

    scope = "thread"
    start: ComplaintState = ("", "")
    max_state_bytes = 2_000

    def measure(self, event: Event, state: ComplaintState) -> tuple[str | None, ComplaintState]:
        if (step := read_step(event)) is not None:
            after = self.start if event.kind == "action" else state
            if not step.is_outcome or step.exit_code is not None:
                return None, after
            text = step.error if step.error and " " in step.error else step.result
            # What a command prints may mention anything; a complaint comes first.
            text = text if step.error is not None else _first_line(text)
            rejects = event.attributes.get("error_type") == "parsing" or is_complaint(text)
            is_own = rejects and not CANCELLED.search(text[:COMPLAINT_TEXT])
            return (_complaint(text) if is_own else None), after
        role, text, (speaker, pending) = event.attributes.get("role"), event.text or "", state
        if role is None or not text.strip():
            return None, state
        if role != "assistant":
            return None, (speaker, _complaint(text) if speaker and is_complaint(text) else "")
        subject = short(event.subject)
        return pending if pending and subject == speaker else None, (subject, "")


def _complaint(text: str) -> str:
    return normalized_error(_first_line(text))[:MAX_COMPLAINT]


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
