"""What has come of one streamed reply so far, and whether it is a reply at all.

`Heard` takes litellm's chunks one by one and gives the text of each, fit to be shown. At the end
it says what is wrong if the stream was none of a model, and makes the `Reply`. It reads chunks by
their attributes and imports no library; it does no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from meta_tui.chat import Reply, ToolCall, Usage
from meta_tui.models.faults import Fault
from meta_tui.models.secrets import Cleaner, mend


class Heard:
    """One reply under way.

    Attributes:
        provider_id: the provider's own id of the reply.
        billed: the library's usage object, None where the provider does not count.
        body: the request as the library logged it; empty where it did not.
    """

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        self.provider_id = ""
        self.billed: Any = None
        self.body: Mapping[str, Any] = {}
        self._secrets = secrets
        self._cleaner = Cleaner(secrets)
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._tools: dict[int, list[str]] = {}
        self._logprobs: dict[str, list[Any]] = {}
        self._finish: str | None = None
        self._usage: Usage | None = None
        self._chunks = 0
        self._invented = False

    def take(self, chunk: Any) -> str:
        """Keeps a chunk and gives the text that it adds, fit to be shown."""
        self._chunks += 1
        fields = _fields(chunk)
        if fields.get("usage") is not None:
            self.billed = fields["usage"]
        if not fields.get("choices"):
            return ""
        self.provider_id = self.provider_id or fields.get("id") or ""
        choice = _fields(fields["choices"][0])
        if choice.get("finish_reason"):
            self._finish = choice["finish_reason"]
            # litellm ends a stream in which nothing came with a finish of its own making.
            self._invented = self._chunks == 1
        if choice.get("logprobs") is not None:
            self._take_logprobs(choice["logprobs"])
        return self._take_delta(_fields(choice["delta"]))

    def end(self, stream: Any) -> str:
        """Looks at the whole and gives the text that was held back.

        Raises:
            Fault: what came is no reply (`server`, `cut`) or half of one (`cut`, `filtered`).
        """
        reported = [chunk.usage for chunk in stream.chunks if getattr(chunk, "usage", None) is not None]
        # Where the provider does not count, litellm fills in numbers of its own.
        self.billed = self.billed if reported else None
        self._usage = usage_of(self.billed, reported)
        self.body = _body(stream)
        rest = self._keep(self._cleaner.flush())
        if self._invented and not reported and not (self._text or self._reasoning or self._tools):
            raise _nothing_came(stream)
        if self._finish == "content_filter":
            raise Fault("filtered", "the provider's content filter stopped the reply; rephrase the question")
        if self._finish is None:
            raise Fault("cut", "the stream ended without saying that the reply is whole")
        return rest

    def reply(self) -> Reply:
        """The whole reply."""
        return Reply(
            text="".join(self._text),
            tool_calls=tuple(
                ToolCall(*(self._whole(part) for part in parts)) for _, parts in sorted(self._tools.items())
            ),
            finish_reason=self._finish,
            usage=self._usage,
            logprobs=self._logprobs or None,
            reasoning=self._whole("".join(self._reasoning)) or None,
        )

    def _take_delta(self, delta: dict[str, Any]) -> str:
        if reasoning := delta.get("reasoning_content"):
            self._reasoning.append(reasoning)
        for call in delta.get("tool_calls") or ():
            parts = self._tools.setdefault(call.index or 0, ["", "", ""])
            parts[0] = parts[0] or call.id or ""
            parts[1] += call.function.name or ""
            parts[2] += call.function.arguments or ""
        text = delta.get("content")
        return self._keep(self._cleaner.feed(text)) if text else ""

    def _take_logprobs(self, logprobs: Any) -> None:
        plain = logprobs if isinstance(logprobs, dict) else logprobs.model_dump()
        for name, items in plain.items():
            if isinstance(items, list):
                self._logprobs.setdefault(name, []).extend(_mended(items))

    def _keep(self, text: str) -> str:
        if text:
            self._text.append(text)
        return text

    def _whole(self, text: str) -> str:
        cleaner = Cleaner(self._secrets)
        return cleaner.feed(text) + cleaner.flush()


def _fields(model: Any) -> dict[str, Any]:
    """All fields of one of the library's values; asking it for one by one takes five times as long."""
    return {**vars(model), **(model.model_extra or {})}


def usage_of(total: Any, reported: Sequence[Any]) -> Usage | None:
    """Tokens as the provider counted them; the library's estimates of details are left out."""
    if total is None:
        return None
    cached = max((_detail(each, "prompt_tokens_details", "cached_tokens") for each in reported), default=0)
    thought = max(
        (_detail(each, "completion_tokens_details", "reasoning_tokens") for each in reported), default=0
    )
    return Usage(total.prompt_tokens or 0, total.completion_tokens or 0, cached, thought)


def _mended(value: Any) -> Any:
    match value:
        case str():
            return mend(value)
        case list():
            return [_mended(item) for item in value]
        case dict():
            return {name: _mended(item) for name, item in value.items()}
    return value


def _detail(usage: Any, group: str, name: str) -> int:
    return getattr(getattr(usage, group, None), name, None) or 0


def _body(stream: Any) -> Mapping[str, Any]:
    details = getattr(getattr(stream, "logging_obj", None), "model_call_details", None) or {}
    body = (details.get("additional_args") or {}).get("complete_input_dict")
    return body if isinstance(body, dict) else {}


def _nothing_came(stream: Any) -> Fault:
    headers = (getattr(stream, "_hidden_params", None) or {}).get("additional_headers") or {}
    kind = str(headers.get("llm_provider-content-type", ""))
    if "html" in kind:
        return Fault(
            "server", "the server answered with a web page; is the base URL right (most end in /v1)?"
        )
    if "json" in kind:
        return Fault("server", "the server answered in one piece and not as a stream; is it an OpenAI API?")
    return Fault("cut", "the stream ended before anything came")
