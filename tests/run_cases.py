"""One small run in every format that is read: an agent is asked to mend a parser.

It reads a file, then at once runs the tests (which fail) and reads a file that is not there, and says so.
Formats that cannot say a part of this leave it out.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]
ASKED = "Mend the parser, please."
THOUGHT = "I look at the parser first."
SAID = "The tests fail and notes.md is missing."
CODE = "def parse(): ..."
FAILED = "1 failed"
MISSING = "no such file: notes.md"
READ = {"path": "parser.py"}
TEST = {"command": "make test"}
NOTES = {"path": "notes.md"}


@dataclass(frozen=True)
class Case:
    """A file as a program would write it. `actions` and `results` are how many it holds."""

    adapter: str
    name: str
    content: bytes
    actions: int = 3
    results: int = 3
    timed: bool = False
    whole: bool = True
    """False where the format has no place for a part of the story."""

    @property
    def id(self) -> str:
        return f"{self.adapter}-{self.name}"


def text(value: Any, indent: int | None = 1) -> bytes:
    return json.dumps(value, indent=indent).encode()


def lines(*values: Any) -> bytes:
    return b"".join(text(value, None) + b"\n" for value in values)


def clock(second: int) -> str:
    return f"2026-03-01T10:00:{second:02d}.000Z"


# --- Claude Code ------------------------------------------------------------------------------


def claude(
    uuid: str, parent: str | None, kind: str, message: Any, second: int, **more: Any
) -> dict[str, Any]:
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "sessionId": "s-1",
        "type": kind,
        "message": message,
        "uuid": uuid,
        "timestamp": clock(second),
        **more,
    }


def answer(name: str, *blocks: Any, used: int = 10) -> dict[str, Any]:
    usage = {"input_tokens": used, "output_tokens": 5}
    return {"id": name, "role": "assistant", "model": "m", "content": list(blocks), "usage": usage}


def use(name: str, tool: str, given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": tool, "input": given}


def gave(name: str, said: str, **more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": name, "content": said, **more}
    return {"role": "user", "content": [block]}


CLAUDE = [
    {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}},
    claude("u1", None, "user", {"role": "user", "content": ASKED}, 0),
    claude("u2", "u1", "assistant", answer("m1", {"type": "text", "text": THOUGHT}), 1),
    claude("u3", "u2", "assistant", answer("m1", use("c1", "Read", {"file_path": "parser.py"})), 2),
    {"type": "progress", "sessionId": "s-1", "uuid": "p1", "parentUuid": "u3", "timestamp": clock(2)},
    claude("u4", "u3", "user", gave("c1", CODE), 3),
    claude("u5", "u4", "assistant", answer("m2", use("c2", "Bash", TEST)), 4),
    claude("u6", "u5", "assistant", answer("m2", use("c3", "Read", {"file_path": "notes.md"})), 4),
    claude("u7", "u5", "user", gave("c2", FAILED, is_error=True), 5),
    claude("u8", "u6", "user", gave("c3", MISSING, is_error=True), 5),
    claude("u9", "u8", "assistant", answer("m3", {"type": "text", "text": SAID}), 6),
]

# --- chat of OpenAI, and who follows it --------------------------------------------------------


def tool_call(name: str, tool: str, given: Any) -> dict[str, Any]:
    return {"id": name, "type": "function", "function": {"name": tool, "arguments": json.dumps(given)}}


CHAT = [
    {"role": "system", "content": "You mend code."},
    {"role": "user", "content": ASKED},
    {"role": "assistant", "content": THOUGHT, "tool_calls": [tool_call("c1", "read_file", READ)]},
    {"role": "tool", "tool_call_id": "c1", "content": CODE},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [tool_call("c2", "bash", TEST), tool_call("c3", "read_file", NOTES)],
    },
    {"role": "tool", "tool_call_id": "c2", "content": FAILED},
    {"role": "tool", "tool_call_id": "c3", "name": "read_file", "content": f"Error: {MISSING}"},
    {"role": "assistant", "content": SAID},
]
TAU = [{"task_id": 4, "reward": 0.0, "trial": 1, "info": {"task": {"instruction": ASKED}}, "traj": CHAT}]

# --- Anthropic ---------------------------------------------------------------------------------

BLOCKS = [
    {"role": "user", "content": ASKED},
    {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": THOUGHT}, use("c1", "read_file", READ)],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 5, "output_tokens": 6},
    },
    gave("c1", CODE),
    {"role": "assistant", "content": [use("c2", "bash", TEST), use("c3", "read_file", NOTES)]},
    {
        "role": "user",
        "content": [
            gave("c2", FAILED, is_error=True)["content"][0],
            gave("c3", MISSING, is_error=True)["content"][0],
        ],
    },
    {"role": "assistant", "content": SAID},
]

# --- OpenAI Responses and Codex ----------------------------------------------------------------


def item_call(name: str, tool: str, given: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": name, "name": tool, "arguments": json.dumps(given)}


def item_output(name: str, said: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": name, "output": said}


def item_said(role: str, said: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": said}]}


ITEMS = [
    item_said("user", ASKED),
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": THOUGHT}]},
    item_call("c1", "read_file", READ),
    item_output("c1", CODE),
    item_call("c2", "shell", {"command": ["bash", "-lc", "make test"]}),
    item_call("c3", "read_file", NOTES),
    item_output("c2", json.dumps({"output": FAILED, "metadata": {"exit_code": 1, "duration_seconds": 2}})),
    item_output("c3", MISSING),
    item_said("assistant", SAID),
]
CODEX = [
    {"timestamp": clock(0), "type": "session_meta", "payload": {"id": "s-2", "cwd": "/code"}},
    {"timestamp": clock(0), "type": "turn_context", "payload": {"model": "m"}},
    *({"timestamp": clock(k + 1), "type": "response_item", "payload": item} for k, item in enumerate(ITEMS)),
    {"timestamp": clock(20), "type": "event_msg", "payload": {"type": "agent_message", "message": SAID}},
    {"timestamp": clock(21), "type": "compacted", "payload": {"message": "what went before"}},
]

# --- LangChain ---------------------------------------------------------------------------------


def lc(kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": kind, "data": {"content": content, "type": kind, **more}}


def lc_call(name: str, tool: str, given: Any) -> dict[str, Any]:
    return {"id": name, "name": tool, "args": given, "type": "tool_call"}


LANGCHAIN = [
    lc("system", "You mend code."),
    lc("human", ASKED),
    lc("ai", THOUGHT, id="a1", tool_calls=[lc_call("c1", "read_file", READ)]),
    lc("tool", CODE, tool_call_id="c1"),
    lc("ai", "", id="a2", tool_calls=[lc_call("c2", "bash", TEST), lc_call("c3", "read_file", NOTES)]),
    lc("tool", FAILED, tool_call_id="c2", status="error"),
    lc("tool", MISSING, tool_call_id="c3", status="error"),
    lc("ai", SAID, id="a3"),
]
NAMES = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage", "system": "SystemMessage"}
CONSTRUCTED = [
    {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", NAMES[item["type"]]],
        "kwargs": {key: value for key, value in item["data"].items() if key != "type"},
    }
    for item in LANGCHAIN
]

# --- OpenHands ---------------------------------------------------------------------------------


def hands(number: int, source: str, **more: Any) -> dict[str, Any]:
    return {"id": number, "timestamp": clock(number), "source": source, "message": "", **more}


def hands_call(tool: str, name: str) -> dict[str, Any]:
    response = {"id": f"r-{name}", "model": "m", "usage": {"prompt_tokens": 7, "completion_tokens": 3}}
    return {"tool_call_metadata": {"function_name": tool, "tool_call_id": name, "model_response": response}}


HANDS = [
    hands(0, "user", action="message", args={"content": ASKED}),
    hands(1, "environment", observation="agent_state_changed", content="", extras={}),
    hands(2, "agent", action="read", args={**READ, "thought": THOUGHT}, **hands_call("editor", "c1")),
    hands(3, "agent", observation="read", content=CODE, extras={}, cause=2, **hands_call("editor", "c1")),
    hands(4, "agent", action="run", args=TEST, **hands_call("bash", "c2")),
    hands(
        5,
        "agent",
        observation="run",
        content=FAILED,
        extras={"metadata": {"exit_code": 1}},
        cause=4,
        success=False,
    ),
    hands(6, "agent", action="read", args=NOTES, **hands_call("editor", "c3")),
    hands(7, "agent", observation="error", content=MISSING, extras={}, cause=6),
    hands(8, "agent", action="message", args={"content": SAID}),
]
EVALUATED = [{"instance_id": "i-1", "metadata": {"agent_class": "A"}, "history": HANDS, "error": None}]


def sdk(number: int, kind: str, source: str, **more: Any) -> dict[str, Any]:
    return {"id": f"e-{number}", "timestamp": clock(number)[:-1], "source": source, **more, "kind": kind}


def sdk_act(number: int, tool: str, name: str, given: Any, batch: str) -> dict[str, Any]:
    thought = [{"type": "text", "text": THOUGHT}] if number == 2 else []
    call = {"id": name, "name": tool, "arguments": json.dumps(given)}
    return sdk(
        number,
        "ActionEvent",
        "agent",
        thought=thought,
        action=given,
        tool_name=tool,
        tool_call_id=name,
        tool_call=call,
        llm_response_id=batch,
    )


def sdk_saw(number: int, tool: str, name: str, said: str, **more: Any) -> dict[str, Any]:
    seen = {"content": [{"type": "text", "text": said}], **more}
    return sdk(number, "ObservationEvent", "environment", tool_name=tool, tool_call_id=name, observation=seen)


SDK = [
    sdk(
        0, "MessageEvent", "user", llm_message={"role": "user", "content": [{"type": "text", "text": ASKED}]}
    ),
    sdk(1, "ConversationStateUpdateEvent", "environment", key="stats", value={}),
    sdk_act(2, "file_editor", "c1", READ, "b1"),
    sdk_saw(3, "file_editor", "c1", CODE, is_error=False),
    sdk_act(4, "terminal", "c2", TEST, "b2"),
    sdk_act(5, "file_editor", "c3", NOTES, "b2"),
    sdk_saw(6, "terminal", "c2", FAILED, is_error=True, exit_code=1, **TEST),
    sdk(7, "AgentErrorEvent", "agent", error=MISSING, tool_name="file_editor", tool_call_id="c3"),
    sdk(
        8,
        "MessageEvent",
        "agent",
        llm_message={"role": "assistant", "content": [{"type": "text", "text": SAID}]},
    ),
]
STATE = {"id": "x", "agent": {"kind": "Agent"}, "workspace": {}, "execution_status": "idle"}

# --- SWE-agent and mini-swe-agent ----------------------------------------------------------------

TRAJ = {
    "environment": "swe_main",
    "trajectory": [
        {
            "action": "open parser.py\n",
            "observation": CODE,
            "response": THOUGHT,
            "thought": THOUGHT,
            "state": json.dumps({"open_file": "parser.py", "working_dir": "/code"}),
        },
        {"action": "make test", "observation": FAILED, "response": "", "thought": "", "state": {}},
        {"action": "cat notes.md", "observation": MISSING, "thought": "", "execution_time": 0.5},
    ],
    "history": [
        {"role": "system", "content": "You mend code.", "agent": "main"},
        {"role": "user", "content": "A demonstration.", "agent": "main", "is_demo": True},
        {"role": "user", "content": ASKED, "agent": "main"},
        {"role": "assistant", "content": THOUGHT, "agent": "main"},
    ],
    "info": {"exit_status": "submitted", "model_stats": {"tokens_sent": 9, "tokens_received": 1}},
}


def bash(said: str, command: str) -> dict[str, Any]:
    response = {
        "id": f"r {command}",
        "created": 1_770_000_000,
        "usage": {"prompt_tokens": 4, "completion_tokens": 2},
    }
    content = f"{said}\n\n```bash\n{command}\n```"
    return {"role": "assistant", "content": content, "extra": {"response": response}}


def returned(code: int, said: str) -> dict[str, Any]:
    return {"role": "user", "content": f"<returncode>{code}</returncode>\n<output>\n{said}\n</output>"}


MINI = {
    "info": {"mini_version": "1.15.0", "exit_status": "Submitted", "model_stats": {"instance_cost": 0.1}},
    "messages": [
        {"role": "system", "content": "You mend code."},
        {"role": "user", "content": ASKED},
        bash(THOUGHT, "cat parser.py"),
        returned(0, CODE),
        bash("", "make test"),
        returned(2, FAILED),
        bash("", "cat notes.md"),
        returned(1, MISSING),
    ],
    "trajectory_format": "mini-swe-agent-1",
    "instance_id": "i-2",
}

# --- ATIF and Inspect ----------------------------------------------------------------------------


def step(number: int, source: str, said: str, **more: Any) -> dict[str, Any]:
    return {"step_id": number, "source": source, "message": said, **more}


def step_call(name: str, tool: str, given: Any) -> dict[str, Any]:
    return {"tool_call_id": name, "function_name": tool, "arguments": given}


ATIF = {
    "schema_version": "ATIF-v1.5",
    "session_id": "s-3",
    "agent": {"name": "mender", "version": "1"},
    "steps": [
        step(1, "user", ASKED),
        step(
            2,
            "agent",
            THOUGHT,
            tool_calls=[step_call("c1", "read_file", READ)],
            observation={"results": [{"source_call_id": "c1", "content": CODE}]},
            metrics={"prompt_tokens": 3, "completion_tokens": 1, "cost_usd": 0.01},
        ),
        step(
            3,
            "agent",
            "",
            tool_calls=[step_call("c2", "bash", TEST), step_call("c3", "read_file", NOTES)],
            observation={
                "results": [
                    {"source_call_id": "c2", "content": FAILED},
                    {"source_call_id": "c3", "content": MISSING},
                ]
            },
        ),
        step(4, "system", "Made shorter.", extra={"context_management": {"type": "compaction"}}),
        step(5, "agent", SAID),
    ],
}


def inspect_call(name: str, tool: str, given: Any) -> dict[str, Any]:
    return {"id": name, "function": tool, "arguments": given, "type": "function"}


def inspect_result(name: str, tool: str, said: str, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": name, "function": tool, "content": said, **more}


def inspect_event(kind: str, second: int, **more: Any) -> dict[str, Any]:
    return {"event": kind, "timestamp": clock(second), **more}


SAMPLE = {
    "id": 7,
    "epoch": 1,
    "input": ASKED,
    "messages": [
        {"role": "system", "content": "attachment://aa"},
        {"role": "user", "content": ASKED, "source": "input"},
        {
            "id": "m1",
            "role": "assistant",
            "content": THOUGHT,
            "tool_calls": [inspect_call("c1", "read_file", READ)],
        },
        inspect_result("c1", "read_file", CODE),
        {
            "id": "m2",
            "role": "assistant",
            "content": "",
            "tool_calls": [
                inspect_call("c2", "bash", {"cmd": "make test"}),
                inspect_call("c3", "read_file", NOTES),
            ],
        },
        inspect_result("c2", "bash", FAILED),
        inspect_result("c3", "read_file", "", error={"type": "file_not_found", "message": MISSING}),
        {"id": "m3", "role": "assistant", "content": SAID},
    ],
    "events": [
        inspect_event("sample_init", 0),
        inspect_event(
            "model", 1, output={"choices": [{"message": {"id": "m1"}}], "usage": {"total_tokens": 4}}
        ),
        inspect_event("tool", 2, id="c1", function="read_file", arguments=READ, result=CODE),
        inspect_event("model", 3, output={"choices": [{"message": {"id": "m2"}}]}),
        inspect_event("tool", 4, id="c2", function="bash", arguments={"cmd": "make test"}, result=FAILED),
        inspect_event("tool", 5, id="c3", function="read_file", arguments=NOTES, result=""),
        inspect_event("model", 6, output={"choices": [{"message": {"id": "m3"}}]}),
    ],
    "scores": {"right": {"value": "I"}},
    "attachments": {"aa": "You mend code."},
}
LOG = {
    "version": 2,
    "status": "success",
    "eval": {"run_id": "r", "task": "mend", "model": "m"},
    "plan": {},
    "samples": [SAMPLE],
}


def zipped(**members: Any) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("_journal/start.json", json.dumps({"version": 2, "eval": LOG["eval"]}))
        for name, value in members.items():
            file.writestr(f"samples/{name}.json", value if isinstance(value, str) else json.dumps(value))
        file.writestr("header.json", "{}")
    return packed.getvalue()


# --- spans -----------------------------------------------------------------------------------------


def nanos(second: int) -> str:
    return str((1_772_359_200 + second) * 1_000_000_000)


def pairs(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
        for key, value in attributes.items()
    ]


def span(
    number: int, parent: int | None, name: str, start: int, end: int, **attributes: Any
) -> dict[str, Any]:
    error = attributes.pop("error", None)
    dotted = {key.replace("__", "."): value for key, value in attributes.items()}
    return {
        "traceId": "t1",
        "spanId": f"s{number}",
        "parentSpanId": "" if parent is None else f"s{parent}",
        "name": name,
        "startTimeUnixNano": nanos(start),
        "endTimeUnixNano": nanos(end),
        "attributes": pairs(dotted),
        "status": {"code": 2, "message": error} if error else {},
    }


def said(role: str, *parts: Any, **more: Any) -> str:
    return json.dumps([{"role": role, "parts": list(parts), **more}])


def words(content: str) -> dict[str, str]:
    return {"type": "text", "content": content}


def part(name: str, tool: str, given: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": name, "name": tool, "arguments": given}


def ran(number: int, start: int, tool: str, name: str, given: Any, gave: str, **more: Any) -> dict[str, Any]:
    return span(
        number,
        1,
        f"execute_tool {tool}",
        start,
        start + 1,
        gen_ai__operation__name="execute_tool",
        gen_ai__tool__name=tool,
        gen_ai__tool__call__id=name,
        gen_ai__tool__call__arguments=json.dumps(given),
        gen_ai__tool__call__result=gave,
        **more,
    )


def thinks(number: int, start: int, out: str, **more: Any) -> dict[str, Any]:
    return span(
        number,
        1,
        "chat m",
        start,
        start + 1,
        gen_ai__operation__name="chat",
        gen_ai__output__messages=out,
        **more,
    )


SPANS = [
    span(
        1,
        None,
        "invoke_agent mender",
        0,
        9,
        gen_ai__operation__name="invoke_agent",
        gen_ai__agent__name="mender",
    ),
    thinks(
        2,
        0,
        said("assistant", words(THOUGHT), part("c1", "read_file", READ)),
        gen_ai__input__messages=said("user", words(ASKED)),
        gen_ai__usage__input_tokens=11,
        gen_ai__usage__output_tokens=2,
    ),
    ran(3, 2, "read_file", "c1", READ, CODE),
    thinks(4, 3, said("assistant", part("c2", "bash", TEST), part("c3", "read_file", NOTES))),
    ran(5, 5, "bash", "c2", TEST, FAILED, error=FAILED),
    ran(6, 5, "read_file", "c3", NOTES, "", error=MISSING),
    thinks(7, 7, said("assistant", words(SAID))),
]
OTLP = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": SPANS}]}]}


def inferred(
    number: int, parent: int | None, kind: str, name: str, start: int, **more: Any
) -> dict[str, Any]:
    return {
        "trace_id": "t2",
        "span_id": f"s{number}",
        "parent_span_id": None if parent is None else f"s{parent}",
        "span_name": name,
        "timestamp": clock(start),
        "duration": "PT1S",
        "status_code": "Error" if "status_message" in more else "Ok",
        "status_message": more.pop("status_message", ""),
        "span_attributes": {"openinference.span.kind": kind, **more.pop("attributes", {})},
        "child_spans": more.pop("children", []),
    }


def inferred_tool(number: int, start: int, tool: str, given: Any, out: str, **more: Any) -> dict[str, Any]:
    attributes = {"tool.name": tool, "input.value": json.dumps(given), "output.value": out}
    return inferred(number, 1, "TOOL", tool, start, attributes=attributes, **more)


INFERRED = {
    "trace_id": "t2",
    "spans": [
        inferred(
            1,
            None,
            "AGENT",
            "Mender.run",
            0,
            attributes={"input.value": ASKED},
            children=[
                inferred(
                    2,
                    1,
                    "LLM",
                    "call",
                    1,
                    attributes={
                        "llm.input_messages.0.message.role": "user",
                        "llm.input_messages.0.message.content": ASKED,
                        "llm.output_messages.0.message.role": "assistant",
                        "llm.output_messages.0.message.content": THOUGHT,
                        "llm.token_count.prompt": "12",
                    },
                ),
                inferred_tool(3, 2, "read_file", READ, CODE),
                inferred_tool(4, 3, "bash", TEST, FAILED),
                inferred_tool(5, 4, "read_file", NOTES, "", status_message=MISSING),
            ],
        )
    ],
}

# --- ours ------------------------------------------------------------------------------------------


def record(i: int, actor: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"i": i, "actor": actor, "kind": kind, **more}


RECORDS = {
    "run_id": "r-1",
    "task": ASKED,
    "label": "failure",
    "labels": {"resolved": False},
    "steps": [
        record(0, "user", "message", text=ASKED),
        record(1, "agent", "message", text=THOUGHT, tokens_in=5, tokens_out=2),
        record(2, "agent", "tool_call", tool="read_file", args=READ),
        record(3, "tool", "tool_result", tool="read_file", text=CODE, error=False),
        record(4, "agent", "tool_call", tool="bash", args=TEST, call_id="c2"),
        record(5, "agent", "tool_call", tool="read_file", args=NOTES, call_id="c3"),
        record(6, "tool", "tool_result", call_id="c2", text=FAILED, exit_code=1, error=False),
        record(7, "tool", "tool_result", call_id="c3", text=MISSING, error=MISSING, labels={"category": "x"}),
        record(8, "agent", "message", text=SAID),
    ],
}


def plain(kind: str, **more: Any) -> dict[str, Any]:
    content = {"text": more.pop("text")} if "text" in more else {}
    subject = more.pop("subject", "agent")
    return {"subject": subject, "thread": "r-2", "kind": kind, **content, "attributes": more}


PLAIN = [
    plain("message", subject="r-2/user", text=ASKED, role="user"),
    plain("action", tool="read_file", arguments=READ, call_id="c1", thought=THOUGHT),
    plain("result", tool="read_file", call_id="c1", result=CODE),
    plain("action", tool="bash", arguments=TEST, call_id="c2", batch="b"),
    plain("action", tool="read_file", arguments=NOTES, call_id="c3", batch="b"),
    plain("result", call_id="c2", result=FAILED, exit_code=1),
    plain("result", call_id="c3", result=MISSING, error=MISSING),
    plain("condensation"),
    plain("message", text=SAID, role="assistant"),
]

# --- tau2-bench -------------------------------------------------------------------------------


def second(*calls: dict[str, Any], content: str | None = None, at: int) -> dict[str, Any]:
    own = [
        {"id": name, "name": tool, "arguments": given, "requestor": "assistant"}
        for name, tool, given in calls
    ]
    return {"role": "assistant", "content": content, "tool_calls": own or None, "timestamp": clock(at)}


def gives(name: str, content: str, at: int, *, error: bool = False) -> dict[str, Any]:
    return {"id": name, "role": "tool", "content": content, "requestor": "assistant", "error": error,
            "timestamp": clock(at)}  # fmt: skip


TAU2 = {
    "timestamp": clock(0),
    "info": {"agent_info": {"llm": "m"}, "environment_info": {"domain_name": "code"}},
    "tasks": [{"id": "7", "user_scenario": {"instructions": ASKED}}],
    "simulations": [
        {
            "task_id": "7",
            "trial": 0,
            "reward_info": {"reward": 0.0},
            "termination_reason": "user_stop",
            "messages": [
                {"role": "user", "content": ASKED, "timestamp": clock(0)},
                second(("c1", "read_file", READ), content=THOUGHT, at=1),
                gives("c1", CODE, 2),
                second(("c2", "bash", TEST), ("c3", "read_file", NOTES), at=3),
                gives("c2", FAILED, 4, error=True),
                gives("c3", MISSING, 5, error=True),
                second(content=SAID, at=6),
            ],
        }
    ],
}

# --- formats that say less --------------------------------------------------------------------

WHO = {
    "question": ASKED,
    "mistake_agent": "Coder",
    "mistake_step": "2",
    "history": [
        {"role": "human", "content": ASKED},
        {"role": "Orchestrator (-> Coder)", "content": "Run the tests, please."},
        {"role": "assistant", "name": "Coder", "content": f"{THOUGHT}\n```sh\nmake test\n```"},
        {"role": "user", "name": "Computer_terminal", "content": f"exitcode: 1 (execution failed)\n{FAILED}"},
        {"role": "assistant", "name": "Coder", "content": SAID},
    ],
}


def claw(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "sessionKey": "agent:main:main", "agentId": "main", **more}


CLAW = [
    {"type": "message.in", "channel": "chat", "content": ASKED, "timestamp": 1_782_238_951_000},
    claw("tool.start", toolName="exec", params=TEST),
    claw("tool.end", toolName="exec", durationMs=291, success=False, error=FAILED),
    claw("tool.start", toolName="read", params=READ, sessionKey="agent:main:subagent:s1"),
    claw("tool.end", toolName="read", durationMs=2, success=True, sessionKey="agent:main:subagent:s1"),
    {"type": "message.out", "channel": "chat", "content": SAID},
]


def logged(name: str, second: int, **more: Any) -> dict[str, Any]:
    fields = {"session.id": "s-9", "event.timestamp": clock(second), **more}
    pairs = [{"key": key, "value": {"stringValue": value}} for key, value in fields.items()]
    return {"body": {"stringValue": f"claude_code.{name}"}, "attributes": pairs}


TELEMETRY = {
    "resourceLogs": [
        {
            "scopeLogs": [
                {
                    "logRecords": [
                        logged("user_prompt", 0, prompt=ASKED),
                        logged("tool_decision", 1, decision="accept", tool_name="Bash", tool_use_id="t1"),
                        logged("api_request", 1, input_tokens="3", output_tokens="2", cost_usd="0.5"),
                        logged("tool_result", 4, tool_name="Bash", tool_use_id="t1", success="false",
                               duration_ms="3000", error="Shell command failed",
                               tool_input=json.dumps(TEST)),
                        logged("assistant_response", 5, response=SAID),
                    ]
                }
            ]
        }
    ]
}  # fmt: skip

AIDER = f"""
# aider chat started at 2026-03-01 10:00:00

> Aider v0.86.0
#### {ASKED}
> Tokens: 1.2k sent, 300 received. Cost: $0.01 message, $0.02 session.

{THOUGHT}

parser.py
```python
<<<<<<< SEARCH
def parse(): ...
=======
def parse(): pass
>>>>>>> REPLACE
```

> # 1 SEARCH/REPLACE block failed to match!
> ## SearchReplaceNoExactMatch: This SEARCH block failed to exactly match lines in parser.py

parser.py
```python
<<<<<<< SEARCH
def parse():
=======
def parse(): pass
>>>>>>> REPLACE
```

> Applied edit to parser.py

{SAID}
""".encode()

CASES = [
    Case("claude_code", "s-1.jsonl", lines(*CLAUDE), timed=True),
    Case("claude_code", "log.json", text({"loglines": CLAUDE}), timed=True),
    Case("openai_chat", "chat.json", text(CHAT)),
    Case("openai_chat", "talk.json", text({"messages": CHAT})),
    Case("openai_chat", "talks.jsonl", lines({"id": "a", "messages": CHAT})),
    Case("openai_chat", "messages.jsonl", lines(*CHAT)),
    Case("tau_bench", "airline.json", text(TAU)),
    Case("anthropic_messages", "blocks.json", text(BLOCKS)),
    Case("anthropic_messages", "request.json", text({"system": "You mend.", "messages": BLOCKS})),
    Case("openai_responses", "items.json", text(ITEMS)),
    Case("openai_responses", "response.json", text({"object": "response", "id": "r", "output": ITEMS})),
    Case("codex", "rollout.jsonl", lines(*CODEX), timed=True),
    Case("langchain", "dict.json", text(LANGCHAIN)),
    Case("langchain", "dumpd.json", text(CONSTRUCTED)),
    Case("langchain", "flat.json", text({"messages": [item["data"] for item in LANGCHAIN]})),
    Case("langchain", "stream.jsonl", lines(*({"node": {"messages": [item]}} for item in LANGCHAIN))),
    Case("openhands_v0", "trajectory.json", text(HANDS), timed=True),
    Case("openhands_v0", "output.jsonl", lines(*EVALUATED), timed=True),
    Case("openhands_sdk", "sdk.jsonl", lines(*SDK), timed=True),
    Case("openhands_sdk", "base_state.json", text(STATE), actions=0, results=0, timed=True),
    Case("swe_agent", "i-3.traj", text(TRAJ)),
    Case("mini_swe_agent", "i-2.traj.json", text(MINI), timed=True),
    Case("atif", "mend.trajectory.json", text(ATIF)),
    Case("inspect", "mend.json", text(LOG), timed=True),
    Case("inspect", "mend.eval", zipped(one=SAMPLE), timed=True),
    Case("otel", "otlp.json", text(OTLP), timed=True),
    Case("otel", "spans.jsonl", lines(*SPANS), timed=True),
    Case("otel", "openinference.json", text(INFERRED), timed=True),
    Case("run_records", "runs.jsonl", lines(RECORDS)),
    Case("run_lines", "plain.jsonl", lines(*PLAIN)),
    Case("tau2_bench", "results.json", text(TAU2), timed=True),
    Case("whowhen", "3.json", text(WHO), actions=1, results=1, whole=False),
    Case("openclaw", "telemetry.jsonl", lines(*CLAW), actions=2, results=2, whole=False),
    Case("claude_code_otlp", "logs.json", text(TELEMETRY), actions=1, results=1, timed=True, whole=False),
    Case("aider", "chat.md", AIDER, actions=2, results=2, whole=False),
]
