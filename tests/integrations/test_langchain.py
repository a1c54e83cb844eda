"""EthogramMiddleware in real agents of LangChain with a scripted model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("langchain")

from typing import Annotated

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt

from ethogram.errors import BadUsage
from ethogram.integrations.langchain import EthogramMiddleware, pending_advice
from recipes import NAMED, STUCK, TASK

THREAD = {"configurable": {"thread_id": "1"}}
ASKED = {"messages": [HumanMessage(TASK)]}


class Scripted(FakeMessagesListChatModel):
    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self


@tool
def bash(command: str) -> str:
    """Run a command."""
    raise ToolException(f"sh: 1: {command.split()[0]}: not found")


bash.handle_tool_error = True


def call(n: int, name: str = "bash", command: str = STUCK) -> dict[str, Any]:
    return {"name": name, "args": {"command": command}, "id": f"c{n}"}


def model(turns: int, name: str = "bash", at_once: int = 1) -> Scripted:
    calls = [[call(turn * at_once + n, name) for n in range(at_once)] for turn in range(turns)]
    return Scripted(responses=[*(AIMessage("", tool_calls=item) for item in calls), AIMessage("All.")])


def agent(turns: int, tools: Any = (bash,), saver: Any = None, at_once: int = 1, **options: Any) -> Any:
    scripted = model(turns, tools[0].name, at_once)
    return create_agent(scripted, list(tools), middleware=[EthogramMiddleware(**options)], checkpointer=saver)


def kinds(messages: list[Any]) -> str:
    """h: a person or a nudge, a: the model, t: a tool."""
    return "".join({HumanMessage: "h", AIMessage: "a", ToolMessage: "t"}[type(item)] for item in messages)


def notes(messages: list[Any]) -> list[str]:
    return [str(item.content) for item in messages if "[ethogram]" in str(item.content)]


def test_sync_and_async_agents_read_the_same():
    first = agent(4).invoke(ASKED)["messages"]
    second = asyncio.run(agent(4).ainvoke(ASKED))["messages"]
    assert kinds(first) == kinds(second) == "h" + "at" * 3 + "h" + "at" + "a"
    assert notes(first) == notes(second)
    assert NAMED in notes(first)[0]


def test_the_task_is_what_the_user_said():
    (note,) = notes(agent(4, rungs=["remind"]).invoke(ASKED)["messages"])
    assert f'The task was: "{TASK}"' in note


def test_calls_at_once_are_all_answered_before_the_nudge():
    messages = agent(1, at_once=4).invoke(ASKED)["messages"]
    assert kinds(messages) == "hatttt" + "ha"


def test_runs_through_one_middleware_do_not_count_for_each_other():
    own = EthogramMiddleware()
    for _ in range(3):
        built = create_agent(model(2), [bash], middleware=[own])
        assert not notes(built.invoke(ASKED)["messages"])
    saver = InMemorySaver()
    for thread in "abc":
        built = create_agent(model(2), [bash], middleware=[own], checkpointer=saver)
        state = built.invoke(ASKED, {"configurable": {"thread_id": thread}})
        assert not notes(state["messages"])
        assert "ethogram_run" not in state


def test_a_question_can_be_answered_in_another_process():
    saver = InMemorySaver()
    state = agent(4, saver=saver, rungs=["ask"]).invoke(ASKED, THREAD)
    assert NAMED in state["__interrupt__"][0].value
    again = create_agent(
        Scripted(responses=[AIMessage("All.")]), [bash], middleware=[EthogramMiddleware()], checkpointer=saver
    )
    state = again.invoke(Command(resume="Use another one."), THREAD)
    assert [item.content for item in state["messages"][-2:]] == ["Use another one.", "All."]


@pytest.mark.parametrize(("answer", "rest"), [(True, "ata"), ("", "ata"), (" \n", "ata"), (False, "a")])
def test_yes_and_no_words_continue_and_no_ends_the_run(answer, rest):
    built = agent(4, saver=InMemorySaver(), rungs=["ask"])
    built.invoke(ASKED, THREAD)
    state = built.invoke(Command(resume=answer), THREAD)
    assert kinds(state["messages"]) == "h" + "at" * 3 + rest
    assert ("[ethogram]" in state["messages"][-1].content) == (answer is False)


def test_after_a_stop_the_user_can_go_on():
    built = agent(4, saver=InMemorySaver(), rungs=["stop"])
    state = built.invoke(ASKED, THREAD)
    assert kinds(state["messages"]) == "h" + "at" * 3 + "a"
    state = built.invoke({"messages": [HumanMessage("Try the other one.")]}, THREAD)
    assert state["messages"][-1].content == "All."


def test_a_result_that_changes_the_state_carries_the_advice():
    @tool
    def note(command: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command:
        """Take a note."""
        return Command(
            update={"messages": [ToolMessage("Error: no", tool_call_id=tool_call_id, status="error")]}
        )

    messages = agent(4, [note]).invoke(ASKED)["messages"]
    assert kinds(messages) == "h" + "at" * 3 + "h" + "at" + "a"


def test_an_exception_is_counted_and_raised():
    @tool
    def broken(command: str) -> str:
        """Break."""
        raise ValueError("no such thing")

    own, saver = EthogramMiddleware(), InMemorySaver()
    built = create_agent(model(4, "broken"), [broken], middleware=[own], checkpointer=saver)
    for _ in range(2):
        with pytest.raises(ValueError, match="no such thing"):
            built.invoke(ASKED, THREAD)
        with pytest.raises(ValueError, match="no such thing"):
            asyncio.run(built.ainvoke(ASKED, THREAD))
    run = built.get_state(THREAD).values["ethogram_run"]
    assert own._guards[run].end()["steps"] == 4


def test_a_tool_that_asks_by_itself_is_not_an_error():
    @tool
    def confirm(command: str) -> str:
        """Ask."""
        return f"{interrupt('May I?')} {command}"

    built = agent(1, [confirm], saver=InMemorySaver())
    assert built.invoke(ASKED, THREAD)["__interrupt__"][0].value == "May I?"
    assert built.invoke(Command(resume="yes"), THREAD)["messages"][-1].content == "All."


def test_a_call_of_a_tool_without_a_name_does_not_break_the_run():
    turns = [AIMessage("", tool_calls=[call(n, "")]) for n in range(2)]
    scripted = Scripted(responses=[*turns, AIMessage("All.")])
    state = create_agent(scripted, [bash], middleware=[EthogramMiddleware()]).invoke(ASKED)
    assert state["messages"][-1].content == "All."


def test_a_graph_of_ones_own_uses_the_wrapper_and_reads_the_advice():
    own = EthogramMiddleware()
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([bash], wrap_tool_call=own.wrap_tool_call))
    graph.add_edge(START, "tools")
    built = graph.compile()
    seen = []
    for n, thread in enumerate(["a", "b", "a", "b", "a"]):
        turn = {"messages": [AIMessage("", tool_calls=[call(n)])]}
        messages = built.invoke(turn, {"configurable": {"thread_id": thread}})["messages"]
        seen.append([item["rung"] for item in pending_advice(messages)])
    assert seen == [[], [], [], [], ["nudge"]]


def test_wrong_options_are_refused_when_the_agent_is_built():
    with pytest.raises(BadUsage, match="did you mean 'nudge'"):
        EthogramMiddleware(rungs=["nudges"])
