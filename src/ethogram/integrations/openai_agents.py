"""OpenAI Agents SDK: hooks of a run, a filter for what the model reads, an approval and a tool guardrail.

hooks = EthogramHooks()
config = RunConfig(call_model_input_filter=hooks.model_input)
await Runner.run(agent, task, hooks=hooks, run_config=config)
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Unpack

from ..agents.guard import Advice, RunGuard
from ..agents.messages import PREFIX
from ..errors import BadUsage, MissingExtra
from .guards import GuardOptions

try:
    from agents import (
        AgentsException,
        RunContextWrapper,
        RunHooks,
        ToolGuardrailFunctionOutput,
        ToolOutputGuardrail,
        ToolOutputGuardrailData,
        TResponseInputItem,
        default_tool_error_function,
    )
    from agents.run import CallModelData, ModelInputData
except ImportError as error:
    raise MissingExtra("openai-agents", "openai-agents", "EthogramHooks") from error

FAILED = ("Error:", default_tool_error_function(RunContextWrapper(None), Exception()))
"""Beginnings of results that are errors: the SDK gives them as any other text."""


class RunStopped(AgentsException):
    """The guard ended the run."""


def is_error_text(result: object) -> bool:
    """Return whether a result is an error: it begins with `Error:`, or is what the SDK says by default.

    >>> is_error_text("Error: no such file"), is_error_text("No errors")
    (True, False)
    """
    return isinstance(result, str) and result.startswith(FAILED)


class EthogramHooks(RunHooks[Any]):
    """Watch the tool calls of one run, over handoffs. Make a new one for each run.

    nudge and remind: the model reads a message with its next input (`model_input`), or at the end of the
    tool's result where the tool has `guardrail`. ask: tools with `needs_approval` need an approval;
    `question` is what to ask. stop: RunStopped, or the guardrail's tripwire. The options are those of
    RunGuard; `rungs` chooses among the four, `is_error` says which results of tools are errors.
    """

    def __init__(
        self, *, is_error: Callable[[object], bool] = is_error_text, **options: Unpack[GuardOptions]
    ) -> None:
        if not callable(is_error):
            raise BadUsage(f"invalid is_error {is_error!r:.80}: expected a function of a result")
        self.guard = RunGuard(**options)
        self.question = ""
        self.guardrail: ToolOutputGuardrail[Any] = ToolOutputGuardrail(
            guardrail_function=self._check, name="ethogram"
        )
        self._is_error = is_error
        self._is_asked = False
        self._notes: list[str] = []
        self._checked: set[str] = set()

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:
        """Tell the guard what the user says; a question that was asked before this call is answered."""
        if self._is_asked:
            self.question, self._is_asked = "", False
        newest = input_items[-1] if input_items else None
        if isinstance(newest, dict) and newest.get("role") == "user":
            content = newest.get("content")
            text = content if isinstance(content, str) else json.dumps(content, default=str)
            if not text.startswith(PREFIX):
                self.guard.say(text)

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: object) -> None:
        """Watch a call, unless the guardrail has seen it."""
        call_id = getattr(context, "tool_call_id", None)
        if call_id in self._checked:
            self._checked.discard(call_id)
            return
        advice = await self._step(context, tool.name, result)
        if advice.rung == "stop":
            raise RunStopped(advice.text)
        if advice and advice.rung != "ask":
            self._notes.append(advice.text)

    def model_input(self, data: CallModelData[Any]) -> ModelInputData:
        """Add what was advised since the last call to the input of the model."""
        notes, self._notes = self._notes, []
        added: list[TResponseInputItem] = [{"role": "user", "content": text} for text in notes]
        return replace(data.model_data, input=[*data.model_data.input, *added])

    async def needs_approval(self, context: Any, arguments: Any, call_id: str) -> bool:
        """Return whether a person has to be asked before a call."""
        self._is_asked = self._is_asked or bool(self.question)
        return bool(self.question)

    async def _check(self, data: ToolOutputGuardrailData) -> ToolGuardrailFunctionOutput:
        self._checked.add(data.context.tool_call_id)
        advice = await self._step(data.context, data.context.tool_name, data.output)
        info = {"rung": advice.rung, "pattern": advice.pattern, "text": advice.text} if advice else None
        if advice.rung == "stop":
            return ToolGuardrailFunctionOutput.raise_exception(info)
        if advice and advice.rung != "ask":
            if isinstance(data.output, str):
                return ToolGuardrailFunctionOutput.reject_content(f"{data.output}\n\n{advice.text}", info)
            # An image or a record would be lost.
            self._notes.append(advice.text)
        return ToolGuardrailFunctionOutput.allow(info)

    async def _step(self, context: Any, tool: str, result: object) -> Advice:
        advice = await self.guard.astep(
            tool=tool or "unknown",
            arguments=_arguments(getattr(context, "tool_arguments", None)),
            result=result,
            error=self._is_error(result),
            call_id=getattr(context, "tool_call_id", None),
        )
        if advice.rung == "ask":
            self.question, self._is_asked = advice.text, False
        return advice


def _arguments(text: str | None) -> dict[str, Any]:
    """The arguments of a call; as they are where the model did not write an object."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        value = text
    return value if isinstance(value, dict) else {"input": value}
