"""OpenHands: events of version 0.x and of the SDK."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...models.arguments import command_in, path_in
from ..documents import Broken, dict_of, documents, list_of, need, text_at
from ..format import Adapter, Input, Record, adapter, look
from ..transcript import Call, Run, folder_of, number, plain, run_name, text_of, usage_of, words

# OpenHands up to 0.x: an array of its events, or evaluation output with the events in `history`.

ACTIONS = words(
    "read write edit run run_ipython browse browse_interactive call_tool_mcp delegate think finish reject "
    "task_tracking push send_pr"
)
OBSERVATIONS = words(
    "read write edit browse run run_ipython delegate error success think user_rejected mcp download "
    "task_tracking message chat"
)
SILENT = words(
    "null recall pause resume stop start change_agent_state agent_state_changed condensation_request "
    "loop_recovery loop_detection"
)
"""Both actions and observations that only move the program itself."""
NOT_GIVEN = words(
    "thought hidden blocking confirmation_state is_input is_confirmed impl_source security_risk "
    "translated_ipython_code wait_for_response image_urls is_static set_hard_timeout"
)
FAILED = frozenset(("error", "user_rejected"))


@adapter("openhands_v0")
class OpenHandsV0(Adapter):
    """Objects with a `source` and an `action` with `args` or an `observation` with `extras`."""

    def recognises(self, head: bytes, name: str) -> bool:
        seen = look(head)
        first = seen.first
        if "instance_id" in first and ("history" in first or "agent_class" in dict_of(first.get("metadata"))):
            return True
        return any(_is_event(item) for item in seen.objects)

    def read(self, file: Input) -> Iterator[Record]:
        """The events of one run, or of each run of an evaluation."""
        name = run_name(file.name)
        single = Session(name, file)
        for line, told, column in documents(file):
            if isinstance(told, Broken):
                yield line, str(told), column
            elif isinstance(told, dict) and "instance_id" in told:
                yield from _evaluated(told, line, file, name)
            else:
                single.tell(line, single.add, told)
        yield from single.records()


def _is_event(record: Mapping[str, Any]) -> bool:
    does = isinstance(record.get("action"), str) and isinstance(record.get("args"), dict)
    sees = isinstance(record.get("observation"), str) and "content" in record
    return "source" in record and "id" in record and (does or sees)


def _evaluated(record: Mapping[str, Any], line: int, file: Input, name: str) -> Iterator[Record]:
    run = Session(f"{name}/{plain(record.get('instance_id')) or line}", file)
    run.line = line
    metadata, report = (
        dict_of(record.get("metadata")),
        dict_of(dict_of(record.get("test_result")).get("report")),
    )
    labels = {"resolved": report.get("resolved"), "error": text_at(record, "error")}
    run.facts(
        model=text_at(metadata.get("llm_config"), "model"),
        labels={key: value for key, value in labels.items() if value is not None} or None,
    )
    if not isinstance(record.get("history"), list):
        run.fault("history must be a list of events")
    for item in list_of(record.get("history")):
        # The oldest files hold pairs of an action and its observation.
        for event in item if isinstance(item, list) else [item]:
            run.tell(line, run.add, event)
    yield from run.records()


class Session(Run):
    """A run as it is told; `_calls` has the call ids by the numbers of the events that made them."""

    def __init__(self, thread: str, file: Input) -> None:
        super().__init__(thread, file)
        self._calls: dict[str, str] = {}

    def add(self, record: Any) -> None:
        """Tell one event."""
        event = need(record, dict, "an event")
        action, seen = event.get("action"), event.get("observation")
        if isinstance(action, str):
            self._action(event, action)
        elif isinstance(seen, str):
            self._observation(event, seen)
        else:
            self.unknown(event.get("type"))

    def _action(self, event: Mapping[str, Any], action: str) -> None:
        args = dict_of(event.get("args"))
        source, at = event.get("source"), event.get("timestamp")
        if action in ("message", "system"):
            role = "system" if action == "system" else "user" if source == "user" else "assistant"
            self.message(role, text_of(args.get("content", event.get("message"))), at=at)
        elif action == "condensation":
            self.condensation(text_at(args, "summary"), at=at)
        elif action in ACTIONS:
            self._call(event, action, args)
        elif action not in SILENT:
            self.unknown(action)

    def _call(self, event: Mapping[str, Any], action: str, args: Mapping[str, Any]) -> None:
        meta = dict_of(event.get("tool_call_metadata"))
        response = dict_of(meta.get("model_response"))
        number_, call_id = plain(event.get("id")), plain(meta.get("tool_call_id"))
        call_id = call_id or (None if number_ is None else f"event-{number_}")
        if number_ is not None and call_id is not None:
            self._calls[number_] = call_id
        given = _given(response, call_id) or {key: args[key] for key in args if key not in NOT_GIVEN}
        tool = text_at(args, "name") if action == "call_tool_mcp" else None
        facts = {"path": text_at(args, "path"), "command": text_at(args, "command", "code")}
        facts = {key: value for key, value in facts.items() if value is not None}
        self.turn(
            text_at(args, "thought", "final_thought"),
            [Call(text_at(meta, "function_name") or tool or action, given, call_id, facts)],
            at=event.get("timestamp"),
            subject=f"{self.thread}/user" if event.get("source") == "user" else None,
            name=text_at(response, "id"),
            usage=usage_of(response.get("usage")),
            model=text_at(response, "model"),
        )

    def _observation(self, event: Mapping[str, Any], seen: str) -> None:
        at, text = event.get("timestamp"), text_of(event.get("content"))
        if seen == "condense":
            self.condensation(text, at=at)
        elif seen in OBSERVATIONS:
            extras = dict_of(event.get("extras"))
            code = number(dict_of(extras.get("metadata")), "exit_code")
            code = number(extras, "exit_code") if code is None else code
            code = None if code == -1 else code  # it had not ended
            meta = dict_of(event.get("tool_call_metadata"))
            self.result(
                text,
                call_id=self._calls.get(plain(event.get("cause")) or "") or meta.get("tool_call_id"),
                tool=text_at(meta, "function_name") or seen,
                exit_code=code,
                # Beside an exit code, `success` says only that it is 0.
                error=seen in FAILED or (event.get("success") is False and code is None),
                at=at,
            )
        elif seen not in SILENT:
            self.unknown(seen)


def _given(response: Mapping[str, Any], call_id: str | None) -> Any:
    """The arguments as the model gave them."""
    for choice in list_of(response.get("choices")):
        for call in list_of(dict_of(dict_of(choice).get("message")).get("tool_calls")):
            if dict_of(call).get("id") == call_id:
                return dict_of(dict_of(call).get("function")).get("arguments")
    return None


# OpenHands SDK: one event to a file (`<conversation>/events/event-00000-<id>.json`), or on each line.
#
# Each file is read on its own. That they are one run follows from where they lie: the thread is the name of
# the folder above `events`, and the events are in the order of their times, which is that of their numbers. A
# result names its tool and command itself, so nothing has to be known of the file with its call.

FOLDER = "events"
EVENTS = words(
    "ActionEvent ObservationEvent AgentErrorEvent UserRejectObservation MessageEvent SystemPromptEvent "
    "Condensation CondensationSummaryEvent CondensationRequest ConversationStateUpdateEvent PauseEvent "
    "ConversationErrorEvent LLMCompletionLogEvent TokenEvent HookExecutionEvent InterruptEvent"
)
OPENHANDS_SDK_SILENT = words(
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
        return seen.first.keys() >= STATE or any(map(_openhands_sdk_is_event, seen.objects))

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


def _openhands_sdk_is_event(record: Mapping[str, Any]) -> bool:
    kind = record.get("kind")
    return isinstance(kind, str) and kind in EVENTS and "source" in record and "timestamp" in record


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
        elif kind not in OPENHANDS_SDK_SILENT and not event.keys() >= STATE:
            self.unknown(kind)

    def _action(self, event: Mapping[str, Any], who: Mapping[str, Any]) -> None:
        call = dict_of(event.get("tool_call"))
        action = dict_of(event.get("action"))
        arguments = call.get("arguments", {key: value for key, value in action.items() if key != "kind"})
        told = {"path": path_in(action), "command": command_in(action)}
        told = {key: value for key, value in told.items() if value is not None}
        name = event.get("tool_name") or call.get("name")
        self.turn(
            text_of(event.get("thought")),
            [Call(name, arguments, event.get("tool_call_id"), told)],
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
