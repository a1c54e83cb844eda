"""LangChain and LangGraph: a middleware that watches the tool calls of an agent.

    create_agent(model, tools, middleware=[EthogramMiddleware()])

The advice about a call is kept in the metadata of its result, so it is part of the checkpoint: a question
can be answered in another process.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, NotRequired, Unpack
from uuid import uuid4

from ..agents.guard import Advice
from ..errors import MissingExtra
from .guards import GuardOptions, Guards

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, hook_config
    from langchain.agents.middleware.types import PrivateStateAttr
    from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
    from langgraph.errors import GraphBubbleUp
    from langgraph.prebuilt.tool_node import ToolCallRequest
    from langgraph.runtime import Runtime
    from langgraph.types import Command, interrupt
except ImportError as error:
    raise MissingExtra("langchain", "langchain", "EthogramMiddleware") from error

KEY = "ethogram"
"""Where messages carry advice, in `additional_kwargs`; providers are not sent it."""

ToolResult = ToolMessage | Command[Any]


class GuardedState(AgentState[Any]):
    """The state of an agent, and the name of its run: that of the guard."""

    ethogram_run: NotRequired[Annotated[str, PrivateStateAttr]]


class EthogramMiddleware(AgentMiddleware[GuardedState, Any, Any]):
    """Watch the tool calls of an agent, each run with a guard of its own.

    nudge and remind: the model reads a message before its next call. ask: the graph is interrupted with the
    question; resume it with a text for the model, True to continue or False to end the run. stop: the run
    ends with a message that says why. The options are those of RunGuard; `rungs` chooses among the four.
    """

    state_schema = GuardedState

    def __init__(self, **options: Unpack[GuardOptions]) -> None:
        super().__init__()
        self._guards = Guards(**options)

    def before_agent(self, state: GuardedState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Name the run, and tell its guard what the user says."""
        run = state.get("ethogram_run") or uuid4().hex
        newest = state["messages"][-1] if state["messages"] else None
        if isinstance(newest, HumanMessage):
            self._guards[run].say(str(newest.text))
        return {"ethogram_run": run}

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: GuardedState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Pass on what was advised about the newest calls."""
        advice = pending_advice(state["messages"])
        for item in advice:
            if item["rung"] == "stop":
                return _end(item["text"])
        messages = [_note(item) for item in advice if item["rung"] != "ask"]
        for item in advice:
            if item["rung"] == "ask":
                # On resumption everything above runs again, and gives the same.
                answer = interrupt(item["text"])
                if answer is False:
                    return _end(item["text"])
                if isinstance(answer, str) and answer.strip():
                    self._guards[state.get("ethogram_run", "")].say(answer)
                    messages.append(_note({"rung": "ask", "text": answer}))
                break
        return {"messages": messages} if messages else None

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]
    ) -> ToolResult:
        """Call the tool, and attach the advice about it to its result."""
        guard = self._guards[_run_of(request)]
        try:
            result = handler(request)
        except GraphBubbleUp:
            raise
        except Exception as error:
            guard.step(**_step(request), error=error)
            raise
        message = _message_in(result)
        _attach(message, guard.step(**_step(request), **_outcome(message)))
        return result

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Do as `wrap_tool_call` does."""
        guard = self._guards[_run_of(request)]
        try:
            result = await handler(request)
        except GraphBubbleUp:
            raise
        except Exception as error:
            await guard.astep(**_step(request), error=error)
            raise
        message = _message_in(result)
        _attach(message, await guard.astep(**_step(request), **_outcome(message)))
        return result


def pending_advice(messages: Sequence[AnyMessage]) -> list[dict[str, str]]:
    """Return the advice about the newest calls that no model has read yet, oldest first.

    Each is a dict with `rung` (nudge, remind, ask or stop) and `text`.
    """
    advice: list[dict[str, str]] = []
    for message in reversed(messages):
        item = message.additional_kwargs.get(KEY)
        if isinstance(message, AIMessage) or (item and isinstance(message, HumanMessage)):
            break
        if item:
            advice.insert(0, item)
    return advice


def _run_of(request: ToolCallRequest) -> str:
    """The run of a call; in a graph of one's own, without `before_agent`, its thread."""
    run = request.state.get("ethogram_run") if isinstance(request.state, dict) else None
    return str(run or (request.runtime.config.get("configurable") or {}).get("thread_id") or "")


def _step(request: ToolCallRequest) -> dict[str, Any]:
    call = request.tool_call
    # Models make up calls without a name.
    return {"tool": call["name"] or "unknown", "arguments": call["args"], "call_id": call["id"]}


def _outcome(message: ToolMessage | None) -> dict[str, Any]:
    if message is None:
        return {}
    return {"result": str(message.text), "error": message.status == "error"}


def _message_in(result: ToolResult) -> ToolMessage | None:
    """The result of a call as the model will read it; None where it only changes the state."""
    if isinstance(result, ToolMessage):
        return result
    messages = result.update.get("messages", []) if isinstance(result.update, dict) else []
    return next((item for item in messages if isinstance(item, ToolMessage)), None)


def _attach(message: ToolMessage | None, advice: Advice) -> None:
    if message is not None and advice:
        message.additional_kwargs[KEY] = {"rung": advice.rung, "text": advice.text}


def _note(item: dict[str, str]) -> HumanMessage:
    return HumanMessage(item["text"], additional_kwargs={KEY: item})


def _end(text: str) -> dict[str, Any]:
    return {"jump_to": "end", "messages": [AIMessage(text)]}
