"""The artifact memory of agentic meta-reasoning: what workers and stages leave, and who saw what.

Source: Thinking Before Thinking (arXiv 2609.38147). Pure: from texts to artifacts, from artifacts to the
texts that stages and workers are shown, and from the events of any run to its `Trace`, the graph
that diagnostics and screens are drawn from. What is not here: asking anybody anything, the loop
(`meta_reasoning`, `direct_control`), and any number computed from a graph (`evaluation`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from meta_tui.chat import Value
from meta_tui.events import (
    Answered,
    AnyEvent,
    BudgetChanged,
    Replied,
    Requested,
    RoundStarted,
    RunFinished,
    RunStarted,
    SpanStarted,
    Stored,
)

Kind = Literal["worker", "note"]
Confidence = Literal["HIGH", "MEDIUM", "LOW"]

FAILED = "worker failed"
"""Body of the artifact of a worker whose call failed; it is never graded."""

UNTITLED = "(untitled)"
TITLE_CHARS = 80

_TITLE = re.compile(r"[ \t]*<title>([^\n]*?)</title>[ \t]*")
_CONFIDENCE = re.compile(r"[ \t*_`>#]{0,9}confidence[ \t*_`]{0,9}[:=][ \t*_`]{0,9}(high|medium|low)\b", re.I)
_ANSWER = re.compile(r"[ \t*_`>#]{0,9}answer[ \t*_`]{0,9}:[ \t*_`]{0,3}", re.I)
ID = re.compile(r"\b\d+_\d+\b")
"""An artifact id standing on its own in a text."""


class Artifact(Value, frozen=True, kw_only=True):
    """Something that a worker or a stage left.

    Attributes:
        id: `{cycle}_{n}`, both from 0; notes and workers of a cycle share one counter.
        body: the reply without its title line, exactly.
        stage: which stage wrote it, or ran the worker.
        context: ids of what its worker was shown, in order.
        answer: the worker's answer, None where there is nothing.
        calls_used: model calls that it cost.
        available_at: calls that the run had made when it was stored.
    """

    id: str
    title: str
    body: str
    kind: Kind = "worker"
    cycle: int = 0
    stage: str = "dispatch"
    context: tuple[str, ...] = ()
    instruction: str = ""
    confidence: Confidence | None = None
    answer: str | None = None
    calls_used: int = 1
    available_at: int = 0

    @property
    def failed(self) -> bool:
        """Whether the worker's call failed: there is nothing to grade."""
        return self.kind == "worker" and self.body == FAILED


@dataclass(frozen=True, slots=True)
class WorkerReply:
    """A worker's reply taken apart; whatever was left out has its stated default."""

    title: str
    body: str
    answer: str | None
    confidence: Confidence | None


def read_worker(text: str) -> WorkerReply:
    """Title, body, answer and confidence of a worker's reply (never raises)."""
    title, body = _titled(text)
    lines = body.split("\n")
    confidence, end = _confidence(lines)
    return WorkerReply(title, body, _answer(lines[:end]), confidence)


def _titled(text: str) -> tuple[str, str]:
    lead = len(text) - len(text.lstrip("\n"))
    first, _, rest = text[lead:].partition("\n")
    found = _TITLE.fullmatch(first)
    if found:
        return _one_line(found.group(1)) or UNTITLED, rest
    return _one_line(text[:400])[:TITLE_CHARS] or UNTITLED, text


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _confidence(lines: Sequence[str]) -> tuple[Confidence | None, int]:
    """The confidence on the last line that is not empty, and where the lines before it end."""
    for number in range(len(lines) - 1, -1, -1):
        if lines[number].strip():
            found = _CONFIDENCE.match(lines[number])
            return (_level(found.group(1)), number) if found else (None, len(lines))
    return None, len(lines)


def _level(word: str) -> Confidence:
    return {"high": "HIGH", "medium": "MEDIUM"}.get(word.lower(), "LOW")  # type: ignore[return-value]


def _answer(lines: Sequence[str]) -> str | None:
    for number in range(len(lines) - 1, -1, -1):
        found = _ANSWER.match(lines[number])
        if found:
            return _block(lines[number][found.end() :], lines[number + 1 :])
    return next((line.strip() for line in reversed(lines) if line.strip()), None)


def _block(first: str, below: Sequence[str]) -> str:
    """What follows the mark: up to an empty line, or all of it where the mark ends its line."""
    if not first.strip(" \t*_`"):
        return "\n".join(below).strip()
    kept = [first]
    for line in below:
        if not line.strip():
            break
        kept.append(line)
    return "\n".join(kept).strip().removesuffix("**")


def answer_of(text: str) -> str:
    """The answer inside a submitted text, which may be all that a worker left; the text itself
    where it has neither an ANSWER mark nor a line of confidence. Graders are given this."""
    lines = text.split("\n")
    if _confidence(lines)[0] is None and not any(_ANSWER.match(line) for line in lines):
        return text
    return read_worker(text).answer or text


class Memory:
    """The artifacts of one run, in order; a value that only grows."""

    def __init__(self) -> None:
        self._all: dict[str, Artifact] = {}
        self._counts: dict[int, int] = {}

    def __iter__(self) -> Iterator[Artifact]:
        return iter(self._all.values())

    def __contains__(self, id: str) -> bool:
        return id in self._all

    def __getitem__(self, id: str) -> Artifact:
        return self._all[id]

    def __len__(self) -> int:
        return len(self._all)

    def next_id(self, cycle: int, ahead: int = 0) -> str:
        """The id that the next artifact of a cycle gets, or the one `ahead` places later."""
        return f"{cycle}_{self._counts.get(cycle, 0) + ahead}"

    def add(self, artifact: Artifact) -> Artifact:
        """Keep an artifact under its id, which is the next one of its cycle."""
        assert artifact.id == self.next_id(artifact.cycle)
        self._counts[artifact.cycle] = self._counts.get(artifact.cycle, 0) + 1
        self._all[artifact.id] = artifact
        return artifact

    @property
    def latest(self) -> Artifact | None:
        """The worker artifact that was stored last."""
        return next((a for a in reversed(self._all.values()) if a.kind == "worker"), None)

    def index(self) -> str:
        """One line an artifact, without bodies."""
        return "\n".join(f"{a.id}: TITLE: {a.title}" for a in self._all.values()) or "(empty)"

    def read(self, ids: Sequence[str]) -> str:
        """The blocks of these ids; an unknown id gets a NOT FOUND block."""
        return "\n\n".join(self._block(id) for id in ids) or "(no ids were given)"

    def _block(self, id: str) -> str:
        found = self._all.get(id)
        return full(found) if found else f"NOT FOUND: there is no artifact {id}"


def full(artifact: Artifact) -> str:
    """An artifact as a stage reads it: id, title, body."""
    return f'<artifact id="{artifact.id}">\nTITLE: {artifact.title}\n{artifact.body}\n</artifact>'


def anonymous(artifact: Artifact) -> str:
    """An artifact as a worker sees it: its body and nothing else."""
    return f"<memory>\n{artifact.body}\n</memory>"


# From a run's events to its graph.

Verdict = Literal["LIKELY_CORRECT", "HAS_GAPS", "FUNDAMENTALLY_FLAWED"]


class Access(Value, frozen=True):
    """One look into the memory: who read which artifacts."""

    cycle: int
    stage: str
    ids: tuple[str, ...]


class Trace(Value, frozen=True, kw_only=True):
    """What a run with workers did, as diagnostics and screens need it.

    Attributes:
        budget: B, the calls that the method was allowed; 0 where it has none.
        submitted: id of the artifact that was submitted; "" where none of them was.
        how: stopped, repaired or forced; "" for a run that submitted nothing.
        verdicts: artifact id -> every verdict, in order.
        state_sizes: characters of s_t, one a cycle; for other controllers of the message list.
        control: calls of the controller; `work` those of workers.
        strip: who made each call, in order: a stage, `control` or `worker`.
    """

    method: str = ""
    task: str = ""
    sample: str = ""
    budget: int = 0
    artifacts: tuple[Artifact, ...] = ()
    submitted: str = ""
    how: str = ""
    answer: str | None = None
    status: str = ""
    reason: str = ""
    cycles: int = 0
    verdicts: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    reads: tuple[Access, ...] = ()
    flags: tuple[tuple[str, str], ...] = ()
    state_sizes: tuple[int, ...] = ()
    strip: tuple[str, ...] = ()
    ledger: tuple[int, ...] = ()

    @property
    def work(self) -> int:
        """Calls of workers."""
        return self.strip.count(WORKER)

    @property
    def control(self) -> int:
        """Calls of the controller."""
        return len(self.strip) - self.work

    @property
    def workers(self) -> tuple[Artifact, ...]:
        """The nodes of the graph."""
        return tuple(a for a in self.artifacts if a.kind == "worker")

    def edges(self, kind: Kind = "worker") -> list[tuple[str, str]]:
        """(from, to) of every context use by a worker; `note` gives those that start at notes."""
        known = {a.id for a in self.artifacts if a.kind == kind}
        return [(used, a.id) for a in self.workers for used in dict.fromkeys(a.context) if used in known]


WORKER = "worker"
CONTROL = "control"
_WORK_ROLES = (WORKER, "query")


@dataclass(slots=True)
class Tracer:
    """Collects a trace from events; give its `take` to a run as a consumer."""

    _started: RunStarted | None = None
    _spans: dict[str, SpanStarted] = field(default_factory=dict)
    _artifacts: list[Artifact] = field(default_factory=list)
    _instructions: dict[str, str] = field(default_factory=dict)
    _batch: dict[str, int] = field(default_factory=dict)
    _verdicts: dict[str, list[str]] = field(default_factory=dict)
    _reads: list[Access] = field(default_factory=list)
    _flags: list[tuple[str, str]] = field(default_factory=list)
    _strip: list[str] = field(default_factory=list)
    _states: dict[str, int] = field(default_factory=dict)
    _sizes: list[int] = field(default_factory=list)
    _ledger: list[int] = field(default_factory=list)
    _cycle: int = 0
    _submitted: tuple[str, str] = ("", "")
    _answer: str | None = None
    _end: tuple[str, str] = ("", "")

    def take(self, event: AnyEvent) -> None:
        """Count one event."""
        match event:
            case RunStarted():
                self._started = event
            case SpanStarted():
                self._span(event)
            case RoundStarted():
                self._cycle = event.number - 1
            case Requested():
                self._request(event)
            case Replied():
                self._reply(event)
            case Stored():
                self._store(event)
            case BudgetChanged():
                self._ledger.append(event.calls)
            case Answered(span=""):
                self._answer = event.text
            case RunFinished():
                self._end = (event.status, event.reason)

    def _span(self, event: SpanStarted) -> None:
        self._spans[event.span] = event
        if event.role == WORKER:
            self._batch[event.name] = 0

    def _request(self, event: Requested) -> None:
        around = self._around(event.span)
        worker = next((s for s in around if s.role in _WORK_ROLES), None)
        stage = next((s.name for s in around if s.role == "stage"), CONTROL)
        self._strip.append(WORKER if worker else stage)
        if worker and worker.name in self._batch:
            self._batch[worker.name] += 1
        if not event.span:
            self._sizes.append(sum(len(message.content) for message in event.messages))

    def _around(self, span: str) -> list[SpanStarted]:
        parts = span.split("/") if span else []
        names = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
        return [self._spans[name] for name in names if name in self._spans]

    def _reply(self, event: Replied) -> None:
        started = self._spans.get(event.span)
        if started is not None and (started.role, started.name) == ("stage", "assess"):
            self._states[event.span] = len(event.reply.text)

    def _store(self, event: Stored) -> None:
        match event.kind:
            case "instruction":
                self._instructions[event.id] = event.body
            case "artifact":
                self._artifacts.append(self._worker(event))
            case "note":
                self._artifacts.append(self._note(event))
            case "verdict":
                self._verdicts.setdefault(event.id, []).append(event.title)
            case "read":
                self._reads.append(Access(self._cycle, self._stage(event.span), event.inputs))
            case "flag":
                self._flags.append((event.title, event.id))
            case "submit":
                self._submitted = (event.id, event.title)

    def _worker(self, event: Stored) -> Artifact:
        reply = read_worker(event.body)
        calls = self._batch.pop(worker_name(event.id), 1)
        later = sum(self._batch.values())
        return Artifact(
            id=event.id,
            title=event.title,
            body=event.body,
            cycle=_cycle_of(event.id),
            stage="dispatch" if self._states else CONTROL,
            context=event.inputs,
            instruction=self._instructions.get(event.id, ""),
            confidence=reply.confidence,
            answer=None if event.body == FAILED else reply.answer,
            calls_used=calls,
            available_at=len(self._strip) - later,
        )

    def _note(self, event: Stored) -> Artifact:
        return Artifact(
            id=event.id,
            title=event.title,
            body=event.body,
            kind="note",
            cycle=_cycle_of(event.id),
            stage=self._stage(event.span),
            calls_used=0,
            available_at=len(self._strip),
        )

    def _stage(self, span: str) -> str:
        return next((s.name for s in self._around(span) if s.role == "stage"), CONTROL)

    def trace(self) -> Trace:
        """What was seen so far."""
        started = self._started
        budget = started.settings.get("budget", 0) if started else 0
        return Trace(
            method=started.method if started else "",
            task=started.task if started else "",
            sample=started.sample if started else "",
            budget=budget if isinstance(budget, int) else 0,
            artifacts=tuple(self._artifacts),
            submitted=self._submitted[0],
            how=self._submitted[1],
            answer=self._answer,
            status=self._end[0],
            reason=self._end[1],
            cycles=len(self._states),
            verdicts={id: tuple(found) for id, found in self._verdicts.items()},
            reads=tuple(self._reads),
            flags=tuple(self._flags),
            state_sizes=tuple(self._states.values()) if self._states else tuple(self._sizes),
            strip=tuple(self._strip),
            ledger=tuple(self._ledger),
        )


def trace(events: Iterable[AnyEvent]) -> Trace:
    """The trace of a run from its events, recorded or live, finished or not."""
    tracer = Tracer()
    for event in events:
        tracer.take(event)
    return tracer.trace()


def worker_name(id: str) -> str:
    """The name of the span in which an artifact's worker speaks."""
    return f"worker {id}"


def _cycle_of(id: str) -> int:
    first = id.partition("_")[0]
    return int(first) if first.isdigit() and first.isascii() else 0


# What a screen draws.


class Row(Value, frozen=True, kw_only=True):
    """One line of the artifact tree.

    Attributes:
        indent: how deep the line stands; an artifact stands under the first of its contexts.
        depth: longest path from a root, in edges; notes have that of their place in the tree.
        also: further contexts, which the tree cannot draw.
        readers: `stage of cycle n`, one for every read.
        used_by: ids of the workers that were shown it.
    """

    id: str
    title: str
    kind: Kind
    indent: int = 0
    depth: int = 0
    also: tuple[str, ...] = ()
    submitted: bool = False
    verdict: str = ""
    confidence: str = ""
    readers: tuple[str, ...] = ()
    used_by: tuple[str, ...] = ()
    failed: bool = False


def depths(nodes: Iterable[str], edges: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Longest path from a root, in edges, for nodes in an order in which contexts come first."""
    found = dict.fromkeys(nodes, 0)
    into: dict[str, list[str]] = {}
    for start, end in edges:
        into.setdefault(end, []).append(start)
    for node in found:
        found[node] = max((found[start] + 1 for start in into.get(node, ()) if start in found), default=0)
    return found


def tree(trace: Trace) -> list[Row]:
    """The artifact tree, line by line: children stand under the first artifact they were shown."""
    depth = depths((a.id for a in trace.workers), trace.edges())
    readers = _readers(trace)
    users: dict[str, list[str]] = {}
    children: dict[str, list[Artifact]] = {}
    known = {a.id for a in trace.artifacts}
    for artifact in trace.artifacts:
        contexts = [id for id in artifact.context if id in known]
        children.setdefault(contexts[0] if contexts else "", []).append(artifact)
        for used in contexts:
            users.setdefault(used, []).append(artifact.id)

    def row(artifact: Artifact, indent: int) -> Row:
        return Row(
            id=artifact.id,
            title=artifact.title,
            kind=artifact.kind,
            indent=indent,
            depth=depth.get(artifact.id, indent),
            also=artifact.context[1:],
            submitted=artifact.id == trace.submitted,
            verdict=trace.verdicts.get(artifact.id, ("",))[-1],
            confidence=artifact.confidence or "",
            readers=tuple(readers.get(artifact.id, ())),
            used_by=tuple(users.get(artifact.id, ())),
            failed=artifact.failed,
        )

    return list(_walk(children, row))


def _walk(children: dict[str, list[Artifact]], row: Callable[[Artifact, int], Row]) -> Iterable[Row]:
    waiting = [(artifact, 0) for artifact in reversed(children.get("", ()))]
    while waiting:
        artifact, indent = waiting.pop()
        yield row(artifact, indent)
        waiting += [(child, indent + 1) for child in reversed(children.get(artifact.id, ()))]


def _readers(trace: Trace) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for access in trace.reads:
        for id in access.ids:
            found.setdefault(id, []).append(f"{access.stage} of cycle {access.cycle}")
    return found


def layers(trace: Trace) -> list[list[str]]:
    """The graph by depth: for each depth the ids of its worker artifacts, in order."""
    depth = depths((a.id for a in trace.workers), trace.edges())
    rows: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for id, level in depth.items():
        rows[level].append(id)
    return rows
