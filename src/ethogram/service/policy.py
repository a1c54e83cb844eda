"""What a gateway does at each risk mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..chat.records import MODES
from ..errors import BadUsage, did_you_mean
from .chat_states import ChatTurn

ACTIONS = ("pass", "annotate", "note", "refuse")
FROM: Mapping[str, Mapping[str, str]] = {
    "pass": {"SAFE": "pass"},
    "annotate": {"SAFE": "annotate"},
    "note": {"SAFE": "annotate", "SUSPECT": "note"},
    "refuse": {"SAFE": "annotate", "SUSPECT": "note", "CRITICAL": "refuse"},
}
"""The action from each risk mode on, by the name of a policy."""
LONGEST_HEADER = 500


class Policy:
    """An action for each risk mode.

    >>> policy = Policy("note", ["UNSAFE=refuse"])
    >>> policy.action("ELEVATED"), policy.action("CRITICAL"), policy.action("UNSAFE")
    ('annotate', 'note', 'refuse')
    """

    def __init__(self, name: str, changes: Sequence[str] = ()) -> None:
        if name not in FROM:
            raise BadUsage(
                f"invalid mode {name!r:.40}{did_you_mean(name, ACTIONS)}: expected {', '.join(ACTIONS)}"
            )
        starts = dict(FROM[name])
        for change in changes:
            mode, _, action = change.partition("=")
            if mode.upper() not in MODES or action not in ACTIONS:
                raise BadUsage(
                    f"invalid policy {change!r:.60}: expected MODE=ACTION with a mode of {', '.join(MODES)} "
                    f"and an action of {', '.join(ACTIONS)}"
                )
            starts[mode.upper()] = action
        self._actions: dict[str, str] = {}
        action = "pass"
        for mode in MODES:
            action = starts.get(mode, action)
            self._actions[mode] = action

    def action(self, mode: str) -> str:
        return self._actions[mode]

    @property
    def is_passive(self) -> bool:
        """Whether a request never depends on the risk, so that both can go on at once."""
        return {*self._actions.values()} <= {"pass", "annotate"}


def headers_of(turn: ChatTurn) -> dict[str, str]:
    """The response headers that say where a conversation stands."""
    headers = {
        "x-ethogram-conversation": turn.conversation,
        "x-ethogram-risk": f"{turn.risk:.2f}",
        "x-ethogram-mode": turn.mode,
        "x-ethogram-reasons": "; ".join(turn.reasons),
    }
    return {name: plain(value) for name, value in headers.items() if value}


def plain(text: str) -> str:
    """A text as a header may hold it: printable ASCII, one line."""
    kept = "".join(char if " " <= char <= "~" else "?" for char in text)
    return kept[:LONGEST_HEADER].strip()


def sentence_of(turn: ChatTurn) -> str:
    """The refusal that a person reads."""
    why = f": {turn.reasons[0].partition(': ')[2]}" if turn.reasons else ""
    return f"I cannot help with this. The conversation was rated {turn.mode} ({turn.risk:.2f} of 1){why}."


def note_of(turn: ChatTurn) -> str:
    """The system note that the model reads."""
    why = "; ".join(reason.partition(": ")[2] for reason in turn.reasons)
    return (
        f"Safety note: this conversation as a whole is rated {turn.mode} ({turn.risk:.2f} of 1): {why}. "
        "Judge the newest request together with those before it, and decline to help with harm."
    )
