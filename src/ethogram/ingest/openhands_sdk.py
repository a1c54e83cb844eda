"""OpenHands SDK: one event to a file (`<conversation>/events/event-00000-<id>.json`), or on each line.

Each file is read on its own. That they are one run follows from where they lie: the thread is the name of
the folder above `events`, and the events are in the order of their times, which is that of their numbers. A
result names its tool and command itself, so nothing has to be known of the file with its call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..records.arguments import command_in, path_in
from .adapter import Adapter, Input, Record, adapter
from .documents import Broken, dict_of, documents, list_of, need, text_at
from .heads import look
from .run_values import folder_of, number, run_name, text_of, words
from .runs import Call, Run

FOLDER = "events"
EVENTS = words(
    "ActionEvent ObservationEvent AgentErrorEvent UserRejectObservation MessageEvent SystemPromptEvent "
    "Condensation CondensationSummaryEvent CondensationRequest ConversationStateUpdateEvent PauseEvent "
    "ConversationErrorEvent LLMCompletionLogEvent TokenEvent HookExecutionEvent InterruptEvent"
)
SILENT = words(
    "CondensationRequest ConversationStateUpdateEvent PauseEvent LLMCompletionLogEvent TokenEvent "
    "HookExecutionEvent InterruptEvent"
)
STATE = frozenset(("agent", "workspace", "execution_status"))
"""Keys of base_state.json, which lies beside the events and is none."""


@adapter("openhands_sdk")
class OpenHandsSdk(Adapter):
    """Objects with a `kind` such as ActionEvent, a `source` and a `timestamp`; or the state of a run."""

    def recognises(self, head: bytes, name: str) -> bool:
        seen = look(head)
        return seen.first.keys() >= STATE or any(map(_is_event, seen.objects))

    def read(self, file: Input) -> Iterator[Record]:
        """The events in a file: one, or one on each line. A file with the state of a run has none."""
        above = folder_of(file.name) == FOLDER
        run = Events((folder_of(file.name, 1) if above else "") or run_name(file.name), file)
        for line, told, column in documents(file):
            if isinstance(told, Broken):
                yield line, str(told), column
            else:
                run.tell(line, run.add, told)
        yield from run.records()


def _is_event(told: Mapping[str, Any]) -> bool:
    kind = told.get("kind")
    return isinstance(kind, str) and kind in EVENTS and "source" in told and "timestamp" in told


class Events(Run):
    """A run as it is told."""

    is_whole = False

    def add(self, record: Any) -> None:
        """Tell one event."""
        event = need(record, dict, "an event")
        kind = text_at(event, "kind")
        who = {"at": event.get("timestamp"), "id": text_at(event, "id")}
        if kind == "ActionEvent":
            self._action(event, who)
        elif kind == "ObservationEvent":
            self._observation(event, who)
        elif kind in ("AgentErrorEvent", "UserRejectObservation"):
            said = text_at(event, "error", "rejection_reason")
            self.result(
                said, call_id=event.get("tool_call_id"), tool=event.get("tool_name"), error=True, **who
            )
        elif kind == "MessageEvent":
            message = need(event.get("llm_message"), dict, "llm_message")
            role = "user" if event.get("source") == "user" else "assistant"
            self.message(role, text_of(message.get("content")), **who)
        elif kind == "SystemPromptEvent":
            self.message("system", text_of(event.get("system_prompt")), **who)
        elif kind == "ConversationErrorEvent":
            self.message("system", text_at(event, "detail", "code"), **who)
        elif kind in ("Condensation", "CondensationSummaryEvent"):
            self.condensation(text_at(event, "summary"), **who)
        elif kind not in SILENT and not event.keys() >= STATE:
            self.unknown(kind)

    def _action(self, event: Mapping[str, Any], who: Mapping[str, Any]) -> None:
        call = dict_of(event.get("tool_call"))
        action = dict_of(event.get("action"))
        given = call.get("arguments", {key: value for key, value in action.items() if key != "kind"})
        told = {"path": path_in(action), "command": command_in(action)}
        told = {key: value for key, value in told.items() if value is not None}
        name = event.get("tool_name") or call.get("name")
        self.turn(
            text_of(event.get("thought")),
            [Call(name, given, event.get("tool_call_id"), told)],
            thought=text_at(event, "reasoning_content"),
            name=text_at(event, "llm_response_id"),
            security_risk=text_at(event, "security_risk"),
            **who,
        )

    def _observation(self, event: Mapping[str, Any], who: Mapping[str, Any]) -> None:
        seen = need(event.get("observation"), dict, "observation")
        code = number(seen, "exit_code")
        self.result(
            text_of(seen.get("content")) or text_of(list_of(seen.get("output"))),
            call_id=event.get("tool_call_id"),
            tool=event.get("tool_name"),
            error=seen.get("is_error") is True,
            exit_code=None if code == -1 else code,
            command=command_in(seen),
            path=path_in(seen),
            **who,
        )
