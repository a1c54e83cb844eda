"""OpenHands: events of version 0.x and of the SDK."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...models.arguments import command_in, path_in
from ..format import Head, Input, adapter
from ..transcript import ToolCall, Transcript, TranscriptAdapter, folder_of, run_name
from ..values import (
    as_dict,
    as_list,
    as_name,
    need,
    number_at,
    text_at,
    text_of,
    token_usage,
    without_none,
    words,
)

# Version 0.x: an array of events, or evaluation output with the events in `history`.

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
"""Actions and observations that only control the program."""
NOT_ARGUMENTS = words(
    "thought hidden blocking confirmation_state is_input is_confirmed impl_source security_risk "
    "translated_ipython_code wait_for_response image_urls is_static set_hard_timeout"
)
FAILED = frozenset(("error", "user_rejected"))


@adapter("openhands_v0")
class OpenHandsV0(TranscriptAdapter):
    """Objects with a `source` and an `action` with `args` or an `observation` with `extras`."""

    beside = words("model_response microagent_knowledge message")

    def matches(self, head: Head) -> bool:
        first = head.first
        if "instance_id" in first and ("history" in first or "agent_class" in as_dict(first.get("metadata"))):
            return True
        return any(map(_is_v0_event, head.objects))

    def runs(self, file: Input, documents: Iterator[tuple[int, Any]]) -> Iterator[Transcript]:
        """Yield the one run, or each run of an evaluation."""
        name = run_name(file.name)
        single = V0Transcript(name, file)
        for line, document in documents:
            if not isinstance(document, dict) or "instance_id" not in document:
                single.add_records(line, [document])
                continue
            run = V0Transcript(f"{name}/{as_name(document['instance_id']) or line}", file)
            report = as_dict(as_dict(document.get("test_result")).get("report"))
            run.set_metadata(
                model=text_at(as_dict(document.get("metadata")).get("llm_config"), "model"),
                labels=without_none(resolved=report.get("resolved"), error=text_at(document, "error"))
                or None,
            )
            run.add_list(line, {"history": _unpaired(document.get("history"))}, "history")
            yield run
        yield single


def _unpaired(history: Any) -> Any:
    """Return the events; the oldest files hold pairs of an action and its observation."""
    if not isinstance(history, list):
        return history
    return [event for item in history for event in (item if isinstance(item, list) else [item])]


def _is_v0_event(record: Mapping[str, Any]) -> bool:
    acts = isinstance(record.get("action"), str) and isinstance(record.get("args"), dict)
    observes = isinstance(record.get("observation"), str) and "content" in record
    return "source" in record and "id" in record and (acts or observes)


class V0Transcript(Transcript):
    """The events of one run; `_call_ids` has the call ids by the numbers of the events that made them."""

    def __init__(self, thread: str, file: Input) -> None:
        super().__init__(thread, file)
        self._call_ids: dict[str, str] = {}

    def add(self, record: Any) -> None:
        event = need(record, dict, "an event")
        if isinstance(action := event.get("action"), str):
            self._action(event, action)
        elif isinstance(observation := event.get("observation"), str):
            self._observation(event, observation)
        else:
            self.unknown(event.get("type"))

    def _action(self, event: Mapping[str, Any], action: str) -> None:
        args, at = as_dict(event.get("args")), event.get("timestamp")
        if action in ("message", "system"):
            role = (
                "system" if action == "system" else "user" if event.get("source") == "user" else "assistant"
            )
            self.message(role, text_of(args.get("content", event.get("message"))), at=at)
        elif action == "condensation":
            self.condensation(text_at(args, "summary"), at=at)
        elif action in ACTIONS:
            self._call(event, action, args)
        elif action in SILENT:
            self.ignore()
        else:
            self.unknown(action)

    def _call(self, event: Mapping[str, Any], action: str, args: Mapping[str, Any]) -> None:
        meta = as_dict(event.get("tool_call_metadata"))
        response = as_dict(meta.get("model_response"))
        number, call_id = as_name(event.get("id")), as_name(meta.get("tool_call_id"))
        call_id = call_id or (None if number is None else f"event-{number}")
        if number is not None and call_id is not None:
            self._call_ids[number] = call_id
        arguments = _model_arguments(response, call_id) or {
            key: args[key] for key in args if key not in NOT_ARGUMENTS
        }
        tool = text_at(meta, "function_name") or (
            text_at(args, "name") if action == "call_tool_mcp" else None
        )
        attributes = {"path": text_at(args, "path"), "command": text_at(args, "command", "code")}
        self.turn(
            text_at(args, "thought", "final_thought"),
            [ToolCall(tool or action, arguments, call_id, attributes)],
            at=event.get("timestamp"),
            subject=f"{self.thread}/user" if event.get("source") == "user" else None,
            message_id=text_at(response, "id"),
            usage=token_usage(response.get("usage")),
            model=text_at(response, "model"),
        )

    def _observation(self, event: Mapping[str, Any], observation: str) -> None:
        at, text = event.get("timestamp"), text_of(event.get("content"))
        if observation == "condense":
            self.condensation(text, at=at)
        elif observation in OBSERVATIONS:
            extras, meta = as_dict(event.get("extras")), as_dict(event.get("tool_call_metadata"))
            code = number_at(extras.get("metadata"), "exit_code")
            code = _exit_code(number_at(extras, "exit_code") if code is None else code)
            self.result(
                text,
                call_id=self._call_ids.get(as_name(event.get("cause")) or "") or meta.get("tool_call_id"),
                tool=text_at(meta, "function_name") or observation,
                exit_code=code,
                # Beside an exit code, `success` says only that it is 0.
                error=observation in FAILED or (event.get("success") is False and code is None),
                at=at,
            )
        elif observation in SILENT:
            self.ignore()
        else:
            self.unknown(observation)


def _model_arguments(response: Mapping[str, Any], call_id: str | None) -> Any:
    """Return the arguments as the model gave them."""
    for choice in map(as_dict, as_list(response.get("choices"))):
        for call in map(as_dict, as_list(as_dict(choice.get("message")).get("tool_calls"))):
            if call.get("id") == call_id:
                return as_dict(call.get("function")).get("arguments")
    return None


def _exit_code(code: Any) -> Any:
    return None if code == -1 else code  # -1: the command had not ended


# The SDK: one event to a file (`<conversation>/events/event-00000-<id>.json`), or on each line.
#
# Each file is read on its own. The thread is the name of the folder above `events`, and the order of the
# events that of their times. A result names its tool and command, so the file with its call is not needed.

FOLDER = "events"
SDK_SILENT = words(
    "CondensationRequest ConversationStateUpdateEvent PauseEvent LLMCompletionLogEvent TokenEvent "
    "HookExecutionEvent InterruptEvent"
)
SDK_EVENTS = SDK_SILENT | words(
    "ActionEvent ObservationEvent AgentErrorEvent UserRejectObservation MessageEvent SystemPromptEvent "
    "Condensation CondensationSummaryEvent ConversationErrorEvent"
)
STATE = frozenset(("agent", "workspace", "execution_status"))
"""Keys of base_state.json, which lies beside the events and is none."""


@adapter("openhands_sdk")
class OpenHandsSdk(TranscriptAdapter):
    """Objects with a `kind` such as ActionEvent, a `source` and a `timestamp`; or the state of a run."""

    def matches(self, head: Head) -> bool:
        return head.first.keys() >= STATE or any(
            text_at(record, "kind") in SDK_EVENTS and "source" in record and "timestamp" in record
            for record in head.objects
        )

    def runs(self, file: Input, documents: Iterator[tuple[int, Any]]) -> Iterator[Transcript]:
        """Yield the events in a file. A file with the state of a run has none."""
        conversation = folder_of(file.name, 1) if folder_of(file.name) == FOLDER else ""
        run = SdkTranscript(conversation or run_name(file.name), file)
        for line, document in documents:
            run.add_records(line, [document])
        yield run


class SdkTranscript(Transcript):
    """The events in one file."""

    is_whole = False

    def add(self, record: Any) -> None:
        event = need(record, dict, "an event")
        kind = text_at(event, "kind")
        origin = {"at": event.get("timestamp"), "id": text_at(event, "id")}
        call = {"call_id": event.get("tool_call_id"), "tool": event.get("tool_name")}
        if kind == "ActionEvent":
            self._action(event, origin)
        elif kind == "ObservationEvent":
            observation = need(event.get("observation"), dict, "observation")
            self.result(
                text_of(observation.get("content")) or text_of(as_list(observation.get("output"))),
                error=observation.get("is_error") is True,
                exit_code=_exit_code(number_at(observation, "exit_code")),
                command=command_in(observation),
                path=path_in(observation),
                **call,
                **origin,
            )
        elif kind in ("AgentErrorEvent", "UserRejectObservation"):
            self.result(text_at(event, "error", "rejection_reason"), error=True, **call, **origin)
        elif kind == "MessageEvent":
            message = need(event.get("llm_message"), dict, "llm_message")
            role = "user" if event.get("source") == "user" else "assistant"
            self.message(role, text_of(message.get("content")), **origin)
        elif kind == "SystemPromptEvent":
            self.message("system", text_of(event.get("system_prompt")), **origin)
        elif kind == "ConversationErrorEvent":
            self.message("system", text_at(event, "detail", "code"), **origin)
        elif kind in ("Condensation", "CondensationSummaryEvent"):
            self.condensation(text_at(event, "summary"), **origin)
        elif kind in SDK_SILENT or event.keys() >= STATE:
            self.ignore()
        else:
            self.unknown(kind)

    def _action(self, event: Mapping[str, Any], origin: Mapping[str, Any]) -> None:
        call, action = as_dict(event.get("tool_call")), as_dict(event.get("action"))
        arguments = call.get("arguments", {key: value for key, value in action.items() if key != "kind"})
        tool, call_id = event.get("tool_name") or call.get("name"), event.get("tool_call_id")
        attributes = {"path": path_in(action), "command": command_in(action)}
        self.turn(
            text_of(event.get("thought")),
            [ToolCall(tool, arguments, call_id, attributes)],
            thought=text_at(event, "reasoning_content"),
            message_id=text_at(event, "llm_response_id"),
            security_risk=text_at(event, "security_risk"),
            **origin,
        )
