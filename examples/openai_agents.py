"""RunGuard with the OpenAI Agents SDK: hooks of the run, and an approval.

    pip install ethogram openai-agents
    OPENAI_API_KEY=... python examples/openai_agents.py "Make the tests pass."

A nudge is put before the model with its next call. At `ask` the next tool needs the approval of a person; say
RunGuard(rungs=["nudge", "remind", "ask", "stop"]) and the run ends where that did not help either.
"""

import asyncio
import json
import subprocess
import sys
from dataclasses import replace

from agents import Agent, AgentsException, RunConfig, RunHooks, Runner, function_tool

from ethogram import RunGuard


class Stopped(AgentsException):
    """The guard has ended the run."""


class Guarded(RunHooks):
    """Feeds what tools give to a guard, and what the guard says to the model or a person."""

    def __init__(self, guard):
        self.guard, self.nudges, self.question = guard, [], ""

    async def on_tool_end(self, context, agent, tool, result):
        advice = await self.guard.astep(
            tool=tool.name,
            arguments=json.loads(context.tool_arguments or "{}"),
            result=result,
            error=str(result).startswith("Error:"),
            call_id=context.tool_call_id,
        )
        if advice.rung == "stop":
            raise Stopped(advice.text)
        if advice.rung == "ask":
            self.question = advice.text
        elif advice:
            self.nudges.append({"role": "user", "content": advice.text})

    def before_model(self, data):
        """What the model reads: what it would have read, and the nudges since the last time."""
        told, self.nudges = self.nudges, []
        return replace(data.model_data, input=[*data.model_data.input, *told])

    async def needs_approval(self, context, arguments, call_id):
        """Whether a person has to be asked before a call."""
        return bool(self.question)


def bash_tool(guarded):
    @function_tool(
        needs_approval=guarded.needs_approval,
        failure_error_function=lambda context, error: f"Error: {error}",
    )
    def bash(command: str) -> str:
        """Run a command."""
        done = subprocess.run(command, shell=True, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr or done.stdout)
        return done.stdout

    return bash


async def run(task, guard, ask_person, model=None, **config):
    """The result of a run; `ask_person` says whether a call may be made."""
    guarded = Guarded(guard)
    agent = Agent(name="coder", model=model, tools=[bash_tool(guarded)])
    settings = {"hooks": guarded, "max_turns": 50}
    settings["run_config"] = RunConfig(call_model_input_filter=guarded.before_model, **config)
    result = await Runner.run(agent, task, **settings)
    while result.interruptions:
        state, question, guarded.question = result.to_state(), guarded.question, ""
        decide = state.approve if await asyncio.to_thread(ask_person, question) else state.reject
        for one in result.interruptions:
            decide(one)
        result = await Runner.run(agent, state, **settings)
    return result


def at_the_terminal(question):
    """Whether the person at the terminal says yes."""
    return input(f"{question}\nLet the agent go on? [y/N] ").strip().lower() == "y"


if __name__ == "__main__":
    task = sys.argv[1] if len(sys.argv) > 1 else "Make the tests pass."
    print(asyncio.run(run(task, RunGuard(task=task), at_the_terminal)).final_output)
