"""OpenHands up to 0.x: an array of its events, or evaluation output with the events in `history`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .adapter import Adapter, Input, Record, adapter
from .documents import Broken, dict_of, documents, list_of, need, text_at
from .heads import look
from .run_values import number, plain, run_name, text_of, usage_of, words
from .runs import Call, Run

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
        return any(_is_event(one) for one in seen.objects)

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


def _is_event(told: Mapping[str, Any]) -> bool:
    does = isinstance(told.get("action"), str) and isinstance(told.get("args"), dict)
    sees = isinstance(told.get("observation"), str) and "content" in told
    return "source" in told and "id" in told and (does or sees)


def _evaluated(told: Mapping[str, Any], line: int, file: Input, name: str) -> Iterator[Record]:
    run = Session(f"{name}/{plain(told.get('instance_id')) or line}", file)
    run.line = line
    metadata, report = dict_of(told.get("metadata")), dict_of(dict_of(told.get("test_result")).get("report"))
    labels = {"resolved": report.get("resolved"), "error": text_at(told, "error")}
    run.facts(
        model=text_at(metadata.get("llm_config"), "model"),
        labels={key: value for key, value in labels.items() if value is not None} or None,
    )
    if not isinstance(told.get("history"), list):
        run.fault("history must be a list of events")
    for one in list_of(told.get("history")):
        # The oldest files hold pairs of an action and its observation.
        for event in one if isinstance(one, list) else [one]:
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
