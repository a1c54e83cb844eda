"""RunGuard in a LangGraph agent: one node between the tools and the model.

    pip install ethogram langgraph langchain-core
    python examples/langgraph_agent.py

A nudge is a message that the model reads next. At `ask` the graph is interrupted until a person has answered;
say RunGuard(rungs=["nudge", "remind", "ask", "stop"]) and the run ends where that did not help either.
"""

import subprocess
from itertools import takewhile
from typing import Literal

from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, interrupt

from ethogram import RunGuard


class State(MessagesState):
    question: str


def build(model, tools, guard):
    """The agent: the model thinks, the tools act, the guard watches, and asks a person if it must."""

    def think(state: State):
        return {"messages": [model.invoke(state["messages"])]}

    def watch(state: State) -> Command[Literal["think", "ask", "__end__"]]:
        ended = list(takewhile(lambda one: isinstance(one, ToolMessage), reversed(state["messages"])))
        [*_, asked] = (one for one in state["messages"] if isinstance(one, AIMessage))
        calls = {call["id"]: call for call in asked.tool_calls}
        update, goto = {"messages": []}, "think"
        for message in reversed(ended):
            call = calls[message.tool_call_id]
            advice = guard.step(
                tool=call["name"],
                arguments=call["args"],
                result=message.content,
                error=message.status == "error",
                call_id=call["id"],
            )
            if advice.rung == "stop":
                goto = "__end__"
            elif advice.rung == "ask":
                update["question"], goto = advice.text, "ask"
            elif advice:
                update["messages"].append(HumanMessage(advice.text))
        return Command(update=update, goto=goto)

    def ask(state: State):
        # A node of its own: what comes before an interrupt in a node is done again afterwards.
        return {"messages": [HumanMessage(interrupt(state["question"]))]}

    graph = StateGraph(State)
    graph.add_node(think)
    graph.add_node("tools", ToolNode(tools, handle_tool_errors=in_words))
    graph.add_node(watch)
    graph.add_node(ask)
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", tools_condition)
    graph.add_edge("tools", "watch")
    graph.add_edge("ask", "think")
    return graph.compile(checkpointer=InMemorySaver())


def in_words(error: ToolException) -> str:
    return f"Error: {error}"


@tool
def bash(command: str) -> str:
    """Run a command."""
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    if done.returncode:
        raise ToolException(done.stderr or done.stdout)
    return done.stdout


def scripted(commands):
    """A model that runs these commands one after the other. Yours is ChatAnthropic(...).bind_tools(tools)."""
    calls = [{"name": "bash", "args": {"command": one}, "id": f"c{n}"} for n, one in enumerate(commands)]
    return FakeMessagesListChatModel(
        responses=[*(AIMessage("", tool_calls=[call]) for call in calls), AIMessage("That was all.")]
    )


def main():
    task = "Make the tests pass."
    graph = build(scripted(["pytst -q"] * 4), [bash], RunGuard(task=task))
    thread = {"configurable": {"thread_id": "1"}}
    said = graph.invoke({"messages": [HumanMessage(task)]}, thread)
    while "__interrupt__" in said:
        answer = input(f"{said['__interrupt__'][0].value}\nWhat should it do? ")
        said = graph.invoke(Command(resume=answer), thread)
    for message in said["messages"]:
        message.pretty_print()


if __name__ == "__main__":
    main()
