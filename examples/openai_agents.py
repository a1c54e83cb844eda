"""EthogramHooks with the OpenAI Agents SDK.

    pip install -e '.[openai-agents]'    # in a clone of ethogram
    OPENAI_API_KEY=... python examples/openai_agents.py "Make the tests pass."

A nudge is put before the model with its next call. At `ask` the next tool needs the approval of a person.
With rungs=["nudge", "remind", "ask", "stop"] the run ends if that did not help.
"""

import asyncio
import subprocess
import sys

from agents import Agent, RunConfig, Runner, function_tool

from ethogram.integrations.openai_agents import EthogramHooks


def bash_tool(hooks):
    @function_tool(
        needs_approval=hooks.needs_approval,
        failure_error_function=lambda context, error: f"Error: {error}",
    )
    def bash(command: str) -> str:
        """Run a command."""
        done = subprocess.run(command, shell=True, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr or done.stdout)
        return done.stdout

    return bash


def at_the_terminal(question):
    """Whether the person at the terminal says yes."""
    return input(f"{question}\nLet the agent continue? [y/N] ").strip().lower() == "y"


async def run(task, ask=at_the_terminal, rungs=None, model=None, **config):
    """The result of a run; `ask` says whether a call may be made."""
    hooks = EthogramHooks(rungs=rungs)
    agent = Agent(name="coder", model=model, tools=[bash_tool(hooks)])
    config = RunConfig(call_model_input_filter=hooks.model_input, **config)
    settings = {"hooks": hooks, "run_config": config, "max_turns": 50}
    result = await Runner.run(agent, task, **settings)
    while result.interruptions:
        state = result.to_state()
        decide = state.approve if await asyncio.to_thread(ask, hooks.question) else state.reject
        for item in result.interruptions:
            decide(item)
        result = await Runner.run(agent, state, **settings)
    return result


if __name__ == "__main__":
    task = sys.argv[1] if len(sys.argv) > 1 else "Make the tests pass."
    print(asyncio.run(run(task)).final_output)
