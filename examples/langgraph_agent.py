"""EthogramMiddleware in an agent of LangChain, which is a graph of LangGraph.

    pip install -e '.[langchain]'    # in a clone of ethogram
    python examples/langgraph_agent.py

A nudge is a message that the model reads next. At `ask` the graph is interrupted until a person has answered.
With rungs=["nudge", "remind", "ask", "stop"] the run ends if that did not help.
"""

import subprocess

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from ethogram.integrations.langchain import EthogramMiddleware


def build(model, tools, **options):
    """The agent; a question needs a checkpointer to come back to."""
    return create_agent(
        model, tools, middleware=[EthogramMiddleware(**options)], checkpointer=InMemorySaver()
    )


@tool
def bash(command: str) -> str:
    """Run a command."""
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    if done.returncode:
        raise ToolException(done.stderr or done.stdout)
    return done.stdout


bash.handle_tool_error = True  # the model reads the error


class Scripted(FakeMessagesListChatModel):
    """A model that runs commands one after the other. Yours is "anthropic:claude-..." or alike."""

    def bind_tools(self, tools, **options):
        return self


def scripted(commands, model=Scripted):
    calls = [{"name": "bash", "args": {"command": text}, "id": f"c{n}"} for n, text in enumerate(commands)]
    return model(
        responses=[*(AIMessage("", tool_calls=[call]) for call in calls), AIMessage("That was all.")]
    )


def main():
    agent = build(scripted(["pytst -q"] * 4), [bash])
    thread = {"configurable": {"thread_id": "1"}}
    state = agent.invoke({"messages": [HumanMessage("Make the tests pass.")]}, thread)
    while "__interrupt__" in state:
        answer = input(f"{state['__interrupt__'][0].value}\nWhat should it do? ")
        state = agent.invoke(Command(resume=answer), thread)
    for message in state["messages"]:
        message.pretty_print()


if __name__ == "__main__":
    main()
