"""EthogramHooks with the Claude Agent SDK.

    pip install -e '.[claude-agent]'    # in a clone of ethogram
    ANTHROPIC_API_KEY=... python examples/claude_agent.py "Make the tests pass."

A login of Claude Code does as well as the key.

A nudge reaches the agent as context of the call that has just ended. At `ask` the person at the terminal is
asked before the next call. With rungs=["nudge", "remind", "ask", "stop"] the run ends if that did not help.
"""

import asyncio
import sys

from claude_agent_sdk import ClaudeAgentOptions, query

from ethogram.integrations.claude_agent import EthogramHooks


def at_the_terminal(question):
    """Whether the person at the terminal says yes."""
    return input(f"{question}\nLet the agent continue? [y/N] ").strip().lower() == "y"


async def run(task, ask=at_the_terminal, rungs=None, **options):
    """The messages of a session."""
    hooks = EthogramHooks(ask=ask, rungs=rungs)

    async def prompt():  # a stream, so that the SDK can ask back
        yield {"type": "user", "message": {"role": "user", "content": task}}

    async for message in query(prompt=prompt(), options=hooks.add_to(ClaudeAgentOptions(**options))):
        yield message


async def main(task):
    async for message in run(task):
        print(message)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "Make the tests pass."))
