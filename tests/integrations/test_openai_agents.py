"""EthogramHooks and its guardrail in real runs of the OpenAI Agents SDK with a scripted model."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

pytest.importorskip("agents")

from agents import (
    Agent,
    Model,
    ModelResponse,
    RunConfig,
    Runner,
    ToolOutputGuardrailTripwireTriggered,
    Usage,
    function_tool,
)
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from ethogram.errors import BadUsage
from ethogram.integrations.openai_agents import EthogramHooks, RunStopped
from recipes import NAMED, STUCK, TASK


class Scripted(Model):
    """A model that makes the same call; `read` is what it was given each time."""

    def __init__(self, calls: int, arguments: str = json.dumps({"command": STUCK})) -> None:
        self.calls, self.arguments = calls, arguments
        self.read: list[list[Any]] = []

    async def get_response(self, **given: Any) -> ModelResponse:
        self.read.append(list(given["input"]))
        number = len(self.read)
        if number <= self.calls:
            item: Any = ResponseFunctionToolCall(
                type="function_call", name="bash", call_id=f"c{number}", arguments=self.arguments
            )
        else:
            text = ResponseOutputText(type="output_text", text="All.", annotations=[])
            item = ResponseOutputMessage(
                id="m1", type="message", role="assistant", status="completed", content=[text]
            )
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *given: Any, **more: Any) -> Any:
        raise NotImplementedError


def in_words(context: Any, error: Exception) -> str:
    return f"Error: {error}"


def run(hooks: EthogramHooks, model: Scripted, failure: Any = in_words, /, **how: Any) -> list[list[Any]]:
    """What the model read each time."""
    options = {} if failure is None else {"failure_error_function": failure}
    guardrails = [hooks.guardrail] if how.get("guardrail") else None

    @function_tool(tool_output_guardrails=guardrails, **options)
    def bash(command: str) -> str:
        """Run a command."""
        raise RuntimeError(f"sh: 1: {command.split()[0]}: not found")

    agent = Agent(name="coder", model=model, tools=[bash])
    filtered = {"call_model_input_filter": hooks.model_input} if how.get("filter", True) else {}
    config = RunConfig(tracing_disabled=True, **filtered)
    own = {"hooks": hooks} if how.get("hooks", True) else {}
    asyncio.run(Runner.run(agent, TASK, run_config=config, max_turns=20, **own))
    return model.read


def told(items: list[Any]) -> int:
    return sum("[ethogram]" in json.dumps(item) for item in items)


def outputs(items: list[Any]) -> list[str]:
    return [item["output"] for item in items if item.get("type") == "function_call_output"]


def test_the_hooks_tell_the_model_once_and_know_its_task():
    read = run(EthogramHooks(rungs=["remind"]), Scripted(4))
    assert [told(item) for item in read] == [0, 0, 0, 1, 0]
    text = read[3][-1]["content"]
    assert NAMED in text
    assert f'The task was: "{TASK}"' in text


@pytest.mark.parametrize("hooks", [True, False])
def test_the_guardrail_adds_the_nudge_to_the_result_with_and_without_the_hooks(hooks):
    read = run(EthogramHooks(), Scripted(5), guardrail=True, hooks=hooks, filter=False)
    assert [told(item) for item in read] == [0, 0, 0, 1, 1, 1]
    third = outputs(read[-1])[2]
    assert third.startswith("Error: sh: 1: no-such-tool: not found\n\n[ethogram] Ran ")


def test_stop_is_an_exception_of_the_hooks_and_a_tripwire_of_the_guardrail():
    with pytest.raises(RunStopped, match="The run was stopped"):
        run(EthogramHooks(rungs=["stop"]), Scripted(5))
    with pytest.raises(ToolOutputGuardrailTripwireTriggered) as stopped:
        run(EthogramHooks(rungs=["stop"]), Scripted(5), guardrail=True)
    assert "The run was stopped" in stopped.value.output.output_info["text"]


def test_what_the_sdk_says_of_a_failure_by_default_is_an_error():
    read = run(EthogramHooks(), Scripted(4), None)
    assert [told(item) for item in read] == [0, 0, 0, 1, 0]
    assert "with the same error" in read[3][-1]["content"]


def test_which_results_are_errors_can_be_said():
    hooks = EthogramHooks(is_error=lambda result: "FAILED" in str(result))
    read = run(hooks, Scripted(4), lambda context, error: "FAILED to do it")
    assert 'with the same error: "FAILED to do it"' in read[3][-1]["content"]


@pytest.mark.parametrize("arguments", ["[1]", "not json", ""])
def test_arguments_that_are_no_object_do_not_break_the_run(arguments):
    run(EthogramHooks(), Scripted(2, arguments))


def test_a_question_is_open_until_the_next_call_of_the_model():
    hooks = EthogramHooks(rungs=["ask"])
    run(hooks, Scripted(3))
    assert NAMED in hooks.question

    async def ask() -> tuple[bool, bool]:
        first = await hooks.needs_approval(None, {}, "c9")
        await hooks.on_llm_start(None, None, None, [])
        return first, await hooks.needs_approval(None, {}, "c10")

    assert asyncio.run(ask()) == (True, False)


def test_wrong_options_are_refused():
    with pytest.raises(BadUsage, match="rungs"):
        EthogramHooks(rungs="nudge")  # type: ignore[arg-type]
    with pytest.raises(BadUsage, match="invalid is_error 3: expected a function"):
        EthogramHooks(is_error=3)  # type: ignore[arg-type]
