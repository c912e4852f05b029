"""Tools that a model may call: how they are offered, and how a call is read from a reply.

Two ways to call: the provider's native tool calls, and for models without them one fenced JSON
block `{"tool": ..., "arguments": {...}}`. Both give the same `Use`. Pure; what a
tool does is its method's business, and no reader here ever raises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from meta_tui.chat import Message, Params, Reply, user
from meta_tui.methods.prompts import text
from meta_tui.protocol import code_blocks

Transport = Literal["native", "text"]

TEXT = {"type": "string"}
IDS = {"type": "array", "items": TEXT}


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: its name, the prompt text that explains it, and the JSON schema of its arguments."""

    name: str
    prompt: str
    properties: dict[str, Any]
    required: tuple[str, ...]

    @property
    def description(self) -> str:
        """What it does and how it is called, for the model."""
        return text(self.prompt)

    def schema(self) -> dict[str, Any]:
        """The tool as providers want it."""
        parameters = {"type": "object", "properties": self.properties, "required": list(self.required)}
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": parameters},
        }


_ENTRY = {"type": "object", "properties": {"title": TEXT, "body": TEXT}, "required": ["title", "body"]}

READ = Tool("read_memory", "amr_tool_read_memory", {"ids": IDS}, ("ids",))
WRITE = Tool(
    "write_memory", "amr_tool_write_memory", {"entries": {"type": "array", "items": _ENTRY}}, ("entries",)
)
RUN = Tool(
    "run_workers",
    "amr_tool_run_workers",
    {
        "num_repeats": {"type": "integer"},
        "subagent_prompts": IDS,
        "memory_blocks": {"type": "array", "items": IDS},
    },
    ("num_repeats", "subagent_prompts", "memory_blocks"),
)
FINISH = Tool("finish", "amr_tool_finish", {"memory_id": TEXT}, ("memory_id",))
FINISH_TEXT = Tool("finish", "amr_tool_finish_text", {"result": TEXT}, ("result",))


@dataclass(frozen=True, slots=True)
class Use:
    """One tool call as it was read; `call_id` is set for native ones."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    call_id: str = ""
    error: str = ""


def described(prompt: str, tools: Sequence[Tool], transport: Transport) -> str:
    """A system prompt with the tools explained where the provider does not do that."""
    if transport == "native" or not tools:
        return prompt
    listed = "\n".join(f"- {tool.name}: {tool.description}" for tool in tools)
    return f"{prompt}\n\n{text('amr_tools').replace('{tools}', listed)}"


def params(tools: Sequence[Tool], transport: Transport, allowed: bool = True) -> Params | None:
    """The request parameters that offer tools natively.

    Where they are no longer allowed they are still declared: some providers refuse a history with
    tool calls in a request that declares none.
    """
    if transport == "text" or not tools:
        return None
    return Params(tools=[tool.schema() for tool in tools], tool_choice=None if allowed else "none")


def uses(reply: Reply) -> tuple[Use, ...]:
    """The tool calls of a reply: all native ones, else the first one in the text form."""
    if reply.tool_calls:
        return tuple(_native(call.name, call.arguments, call.id) for call in reply.tool_calls)
    whole = reply.text.strip()
    blocks = [whole] if whole.startswith("{") else code_blocks(reply.text)
    return next(((found,) for block in blocks if (found := _text_form(block))), ())


def _native(name: str, arguments: str, call_id: str) -> Use:
    decoded = _json(arguments or "{}")
    if isinstance(decoded, dict):
        return Use(name, decoded, call_id)
    return Use(name, {}, call_id, "its arguments are no JSON object")


def _text_form(block: str) -> Use | None:
    decoded = _json(block)
    if not isinstance(decoded, dict) or not isinstance(decoded.get("tool"), str):
        return None
    arguments = decoded.get("arguments", {})
    if isinstance(arguments, dict):
        return Use(decoded["tool"], arguments)
    return Use(decoded["tool"], {}, error="its arguments are no JSON object")


def _json(content: str) -> Any:
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def result(use: Use, content: str) -> Message:
    """The message that carries a tool's result back."""
    if use.call_id:
        return Message("tool", content, tool_call_id=use.call_id)
    return user(f"Result of {use.name}:\n{content}")


def texts(value: Any) -> list[str]:
    """A list of texts from whatever a model gave for one: a text, a list, or nothing."""
    if isinstance(value, str):
        return [value]
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
