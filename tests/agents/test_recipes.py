"""The recipes under examples/, each with its framework's real package and a scripted model.

One test for each, since it takes seconds to load such a package.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from recipes import EXAMPLES, NAMED, STUCK, TASK, nobody, recipe

STAND_IN = Path(__file__).parent / "claude_stand_in.py"
FINE = [f"echo part {n} of the work" for n in range(6)]


def test_each_recipe_is_short_and_has_a_test_here():
    files = sorted(EXAMPLES.glob("*.py"))
    assert [file.stem for file in files] == ["claude_agent", "langgraph_agent", "openai_agents"]
    assert all(len(file.read_text(encoding="utf-8").splitlines()) <= 120 for file in files)


# --- Claude Agent SDK -------------------------------------------------------------------------


def play_claude(folder: Path, calls: list[dict[str, Any]], ask: Any, rungs: list[str] | None = None) -> Any:
    """What became of calls: the log of the stand-in, and the messages that the SDK gave."""
    module = recipe("claude_agent", "claude_agent_sdk")
    script, log, program = folder / "script.json", folder / "log.json", folder / "claude"
    script.write_text(json.dumps(calls), encoding="utf-8")
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{STAND_IN}" "{script}" "{log}" "$@"\n')
    program.chmod(0o755)

    async def run() -> list[Any]:
        started = module.run(TASK, ask, rungs, cli_path=program, cwd=folder)
        return [item async for item in started]

    messages = asyncio.run(run())
    return json.loads(log.read_text(encoding="utf-8")), messages


def claude_call(command: str, error: str | None = None) -> dict[str, Any]:
    said = {"response": {"stdout": command, "stderr": ""}} if error is None else {"error": error}
    return {"tool": "Bash", "input": {"command": command}, **said}


FAILED = claude_call(STUCK, f"Exit code 127\n/bin/sh: 1: {STUCK.split()[0]}: not found")


def claude_reads_a_nudge_after_the_third_failure_and_goes_on(tmp_path: Path):
    log, messages = play_claude(tmp_path, [FAILED] * 5, nobody)
    [(after, text)] = log["context"]
    assert (after, len(log["made"]), log["prompt"]) == (3, 5, TASK)
    assert NAMED in text
    assert STUCK in text
    assert type(messages[-1]).__name__ == "ResultMessage"


def claude_at_work_reads_nothing(tmp_path: Path):
    log, _ = play_claude(tmp_path, [claude_call(item) for item in FINE], nobody)
    assert log["context"] == log["questions"] == log["shown"] == []
    assert len(log["made"]) == len(FINE)


def claude_asks_the_person_before_the_next_call(tmp_path: Path):
    questions: list[str] = []

    def no(question: str) -> bool:
        questions.append(question)
        return False

    log, _ = play_claude(tmp_path, [FAILED] * 4, no, ["ask"])
    # Told after the third; the fourth is the one that the person forbids.
    assert len(log["made"]) == 3
    assert questions == log["questions"] == log["shown"]
    assert NAMED in questions[0]


def claude_is_stopped_where_somebody_asked_for_that(tmp_path: Path):
    for call in (FAILED, claude_call("echo same")):
        log, _ = play_claude(tmp_path, [call] * 6, nobody, ["stop"])
        assert len(log["made"]) == 3
        assert "The run was stopped" in log["stopped"]


def test_the_recipe_for_claude(subtests: pytest.Subtests, tmp_path: Path):
    recipe("claude_agent", "claude_agent_sdk")
    checks = (
        claude_reads_a_nudge_after_the_third_failure_and_goes_on,
        claude_at_work_reads_nothing,
        claude_asks_the_person_before_the_next_call,
        claude_is_stopped_where_somebody_asked_for_that,
    )
    for check in checks:
        with subtests.test(check.__name__):
            check(tmp_path)


# --- LangGraph --------------------------------------------------------------------------------


def play_graph(commands: list[str], rungs: list[str] | None = None) -> tuple[Any, Any, Any, list[list[Any]]]:
    """The graph, its thread, what it said, and what the model read each time."""
    module = recipe("langgraph_agent", "langgraph", "langchain")
    read: list[list[Any]] = []

    class Reader(module.Scripted):  # type: ignore[misc, name-defined]
        def _generate(self, messages: list[Any], *args: Any, **more: Any) -> Any:
            read.append(list(messages))
            return super()._generate(messages, *args, **more)

    graph = module.build(module.scripted(commands, Reader), [module.bash], rungs=rungs)
    thread = {"configurable": {"thread_id": "1"}, "recursion_limit": 100}
    return graph, thread, graph.invoke({"messages": [module.HumanMessage(TASK)]}, thread), read


def nudges_in(messages: list[Any]) -> list[int]:
    return [n for n, message in enumerate(messages) if "[ethogram]" in str(message.content)]


def a_graph_reads_a_nudge_after_the_third_failure_and_goes_on():
    _, _, said, read = play_graph([STUCK] * 5)
    # The person, then a call and its result three times: the nudge is the eighth.
    assert [nudges_in(item) for item in read] == [[], [], [], [7], [7], [7]]
    assert NAMED in read[3][7].content
    assert said["messages"][-1].content == "That was all."


def a_graph_at_work_reads_nothing():
    _, _, said, read = play_graph(FINE)
    assert not any(nudges_in(item) for item in read)
    assert said["messages"][-1].content == "That was all."


def a_graph_waits_for_the_person_and_goes_on_with_the_answer():
    from langgraph.types import Command

    graph, thread, said, read = play_graph([STUCK] * 4, ["ask"])
    assert NAMED in said["__interrupt__"][0].value
    assert len(read) == 3
    said = graph.invoke(Command(resume="Use another one."), thread)
    assert read[3][-1].content == "Use another one."
    assert said["messages"][-1].content == "That was all."


def a_graph_is_stopped_where_somebody_asked_for_that():
    _, _, said, read = play_graph([STUCK] * 6, ["stop"])
    assert len(read) == 3
    assert "__interrupt__" not in said
    assert "The run was stopped" in said["messages"][-1].content


def test_the_recipe_for_langgraph(subtests: pytest.Subtests):
    recipe("langgraph_agent", "langgraph", "langchain")
    checks = (
        a_graph_reads_a_nudge_after_the_third_failure_and_goes_on,
        a_graph_at_work_reads_nothing,
        a_graph_waits_for_the_person_and_goes_on_with_the_answer,
        a_graph_is_stopped_where_somebody_asked_for_that,
    )
    for check in checks:
        with subtests.test(check.__name__):
            check()


# --- OpenAI Agents SDK ------------------------------------------------------------------------


def play_openai(commands: list[str], ask: Any, rungs: list[str] | None = None) -> tuple[Any, list[Any]]:
    """What came out, and what the model read each time."""
    module = recipe("openai_agents", "agents")
    from agents import Model, ModelResponse, Usage
    from openai.types.responses import (
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseOutputText,
    )

    read: list[Any] = []

    class Scripted(Model):
        async def get_response(self, **given: Any) -> ModelResponse:
            read.append(list(given["input"]))
            number = len(read) - 1
            if number < len(commands):
                told = json.dumps({"command": commands[number]})
                said: Any = ResponseFunctionToolCall(
                    type="function_call", name="bash", call_id=f"c{number}", arguments=told
                )
            else:
                text = ResponseOutputText(type="output_text", text="That was all.", annotations=[])
                said = ResponseOutputMessage(
                    id="m1", type="message", role="assistant", status="completed", content=[text]
                )
            return ModelResponse(output=[said], usage=Usage(), response_id=None)

        def stream_response(self, *given: Any, **more: Any) -> Any:
            raise NotImplementedError

    started = module.run(TASK, ask, rungs, Scripted(), tracing_disabled=True)
    return asyncio.run(started), read


def told_in(items: list[Any]) -> list[str]:
    return [str(item["content"]) for item in items if "[ethogram]" in str(item.get("content"))]


def an_agent_reads_a_nudge_after_the_third_failure_and_goes_on():
    result, read = play_openai([STUCK] * 5, nobody)
    assert [len(told_in(item)) for item in read] == [0, 0, 0, 1, 0, 0]
    assert NAMED in told_in(read[3])[0]
    assert result.final_output == "That was all."


def an_agent_at_work_reads_nothing():
    result, read = play_openai(FINE, nobody)
    assert not any(told_in(item) for item in read)
    assert result.final_output == "That was all."


def an_agent_waits_for_the_person_before_the_next_call():
    ask_and_answer(True)
    ask_and_answer(False)


def ask_and_answer(answer: bool):
    questions: list[str] = []

    def person(question: str) -> bool:
        questions.append(question)
        return answer

    result, read = play_openai([STUCK] * 4, person, ["ask"])
    [question] = questions
    assert NAMED in question
    made = [item for item in read[-1] if item.get("type") == "function_call_output"]
    assert [str(item["output"]).startswith("Error:") for item in made] == [True, True, True, answer]
    assert result.final_output == "That was all."


def an_agent_is_stopped_where_somebody_asked_for_that():
    with pytest.raises(Exception, match=NAMED) as stopped:
        play_openai([STUCK] * 6, nobody, ["stop"])
    assert type(stopped.value).__name__ == "RunStopped"


def test_the_recipe_for_openai(subtests: pytest.Subtests):
    recipe("openai_agents", "agents")
    checks = (
        an_agent_reads_a_nudge_after_the_third_failure_and_goes_on,
        an_agent_at_work_reads_nothing,
        an_agent_waits_for_the_person_before_the_next_call,
        an_agent_is_stopped_where_somebody_asked_for_that,
    )
    for check in checks:
        with subtests.test(check.__name__):
            check()
