"""Meta^n over a family of tasks: a fixed operation keeps writing the next layer around a solver.

Source: arXiv 2608.24735; prompts are worded by this project. The run's log is the archive: what a
run keeps is in `records`. Linear mode stacks layers on the newest; evolutionary mode breeds from an
archive, optionally under a guard that lets each child improve one task only. `depth1` and
`object_level` are controls that spend as many calls on the base solver alone and on each task's own
script; `apply` runs a chain that is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from meta_tui.chat import Limits, Params, user
from meta_tui.errors import CallFailed, Stopped
from meta_tui.events import StreamItem
from meta_tui.methods.asking import filled
from meta_tui.methods.meta_n import omega
from meta_tui.methods.meta_n.archive import (
    Archive,
    Candidate,
    Rotation,
    gate_tasks,
    parents,
    passes,
)
from meta_tui.methods.meta_n.facts import TaskFacts, facts_of
from meta_tui.methods.meta_n.layers import Chain, Written, script_in, written
from meta_tui.methods.meta_n.records import (
    SEED,
    ArchiveBest,
    Focus,
    Gate,
    GateTask,
    HeldOut,
    LayerKept,
    OmegaCall,
    Routed,
    StopKept,
    StopReason,
    body,
)
from meta_tui.methods.meta_n.screening import LONGEST, screened
from meta_tui.methods.meta_n.solving import Attempt, Base, How, Said, solve, solver_prompt
from meta_tui.methods.meta_n.traces import Trace, is_better, mean_of
from meta_tui.methods.prompts import text
from meta_tui.methods.stream import HOPELESS, items
from meta_tui.run import Run, Solution
from meta_tui.tasks import Sample

Mode = Literal["linear", "evolutionary", "apply", "depth1", "object_level"]
Count = Annotated[int, msgspec.Meta(ge=1)]
Natural = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[float, msgspec.Meta(gt=0)]

PATIENCE: Mapping[str, int] = {"linear": 1}
"""Of a mode where the setting says nothing; 5 for all others."""

NEEDS_STREAM = (
    "meta_n breeds layers on a stream of graded tasks; give --stream TASK:A-B, or --chain RUN|FILE to use "
    "a chain on one question"
)


EMPTY = "no candidate comes of it"
EMPTY_FOCUS = "the stack below solves the focus task once more"
"""What is done where a reply holds no layer; under the guard the second."""


class MetaN(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model reads traces and code of the stack below and writes the next layer, again and again.

    Attributes:
        mode: `linear`, `evolutionary`, `apply` (run the chain that is given), or a control:
            `depth1` (the base solver again and again), `object_level` (each task's own script).
        base: the base solver: one call, or an observe-act loop of at most `turns` calls.
        turns: calls of the agentic base solver at most.
        max_depth: of a chain; the base solver has depth 1.
        iterations: at most.
        patience: iterations without improvement that end a run; 0: 1 in linear mode, else 5.
        epsilon: share of the score range that counts as an improvement.
        score_range: width of the scale that scores are on, from 0; 0: the spread of the means.
        calls: model calls after which nothing new is begun; 0: no such limit.
        grow_from: linear mode grows on the `latest` layer, or on the `best` prefix.
        beam: parents of an iteration.
        branching: children of a parent.
        alpha: how much parents with few children are preferred.
        gate: children must succeed on one of a few tasks before they are evaluated on all.
        guard: each child improves one task; all others keep their best result.
        library: layers may define helpers.
        outer_context: layers are told what deeper layers say.
        held_out: that many tasks from the end of the stream are kept apart and reported apart.
        omega_model: model that writes layers; empty: the solver's.
        solver_temperature: of the base solver.
        temperatures: of Omega, in turn over the children.
        context_tokens: of Omega's prompt at most.
        pre_seconds: most that a layer's pre-process code may take.
        script_seconds: most that a solver's script may take, where its task says nothing else.
        script_memory: bytes that it may use, where its task says nothing else.
        chain: layers that are there from the start (`meta-tui chain export`).
        tasks: category, data and limits of the tasks, by name.
    """

    id: ClassVar[str] = "meta_n"
    streams: ClassVar[bool] = True
    graded: ClassVar[str] = "continuous"

    mode: Mode = "linear"
    base: Base = "single"
    turns: Annotated[int, msgspec.Meta(ge=1, le=8)] = 8
    max_depth: Count = 10
    iterations: Count = 50
    patience: Natural = 0
    epsilon: Annotated[float, msgspec.Meta(ge=0)] = 0.02
    score_range: Annotated[float, msgspec.Meta(ge=0)] = 1.0
    calls: Natural = 0
    grow_from: Literal["latest", "best"] = "latest"
    beam: Count = 1
    branching: Count = 1
    alpha: Annotated[float, msgspec.Meta(ge=0)] = 0.3
    gate: bool = False
    guard: bool = False
    library: bool = True
    outer_context: bool = True
    held_out: Natural = 0
    omega_model: str = ""
    solver_temperature: float = 0.3
    temperatures: tuple[float, ...] = (0.5, 0.7, 0.9)
    context_tokens: Annotated[int, msgspec.Meta(ge=4000)] = 100_000
    pre_seconds: Positive = 5.0
    script_seconds: Positive = 10.0
    script_memory: Count = 1 << 30
    chain: Chain = ()
    tasks: dict[str, TaskFacts] = msgspec.field(default_factory=dict)

    @staticmethod
    def prepared(samples: Iterable[Sample]) -> dict[str, Any]:
        """Settings that hold what is known of these samples, for a log that is complete."""
        return {"tasks": msgspec.to_builtins(facts_of(samples))}

    @property
    def needs_stream(self) -> str:
        """Why one question is not enough; empty where it is."""
        return "" if self.mode == "apply" else NEEDS_STREAM

    @property
    def patient(self) -> int:
        """The patience in force."""
        return self.patience or PATIENCE.get(self.mode, 5)

    @property
    def how(self) -> How:
        """How tasks are solved."""
        return How(
            self.base,
            self.turns,
            self.outer_context,
            self.pre_seconds,
            Limits(self.script_seconds, self.script_memory),
            Params(temperature=self.solver_temperature),
            self.tasks,
        )

    async def solve(self, run: Run, question: str) -> Solution:
        """Breed and evaluate until nothing is gained, or run the chain that is given."""
        queue = items(run, question)
        chain = await self.given(run)
        if not run.started.stream:
            return await self.alone(run, queue[0], chain)
        kept = len(queue) - min(self.held_out, len(queue) - 1)
        work = Work(self, run, queue[:kept], queue[kept:], self.how)
        seed = await work.candidate(chain, None, 0)
        work.tell_best(0)
        modes = {
            "linear": work.linear,
            "evolutionary": work.evolutionary,
            "depth1": work.depth1,
            "object_level": work.object_level,
        }
        reason: StopReason = "applied" if self.mode == "apply" else await modes[self.mode](seed)
        return await work.finish(reason, seed)

    async def alone(self, run: Run, item: StreamItem, chain: Chain) -> Solution:
        """One question: nothing is graded, so nothing is bred; a chain is used as it is."""
        if self.mode != "apply":
            run.reject(NEEDS_STREAM)
            raise CallFailed("unsupported", NEEDS_STREAM)
        trace = await solve(run, item, chain, self.how, Said(), graded=False)
        return Solution(trace.answer or None, "applied" if trace.answer else trace.failure)

    async def given(self, run: Run) -> Chain:
        """The chain that a run begins with, screened like any other."""
        chain: list[LayerKept] = []
        for layer in self.chain:
            as_written = Written(
                layer.rationale, layer.pre_process, tuple((one.name, one.source) for one in layer.library)
            )
            async with run.span("screening", layer.id) as inner:
                pre_process, library, out = await screened(inner, as_written, self.library)
                found = msgspec.structs.replace(
                    layer,
                    id=f"L{len(chain) + 1}",
                    depth=len(chain) + 2,
                    pre_process=pre_process,
                    library=library,
                    screened=out,
                    below=chain[-1].id if chain else "",
                    parent="",
                    call="",
                )
                inner.store("layer", found.id, layer_title(found), body(found))
            chain.append(found)
        return tuple(chain)


def layer_title(layer: LayerKept) -> str:
    """One line about a layer, for people."""
    parts = ["pre-process"] if layer.pre_process else []
    parts += [one.name for one in layer.library]
    out = f", {len(layer.screened)} screened out" if layer.screened else ""
    return f"depth {layer.depth}: {', '.join(parts) or 'nothing'}{out}"


def shown(value: float | None) -> str:
    """A mean in a title."""
    return "-" if value is None else f"{value:.4f}"


@dataclass(slots=True)
class Work:
    """One run over its tasks: the archive, and what is counted on the way."""

    method: MetaN
    run: Run
    tasks: Sequence[StreamItem]
    held: Sequence[StreamItem]
    how: How
    archive: Archive = field(default_factory=Archive)
    said: Said = field(default_factory=Said)
    written: int = 0
    layers: int = 0
    iteration: int = 0
    width: float | None = None
    patience: int = 0
    rotation: Rotation = field(init=False)

    def __post_init__(self) -> None:
        self.rotation = Rotation([item.sample for item in self.tasks])
        self.layers = len(self.method.chain)
        self.width = self.method.score_range or None

    # One candidate

    async def evaluated(self, run: Run, chain: Chain, tasks: Sequence[StreamItem]) -> dict[str, Trace]:
        """The traces of tasks under a chain, all at once, in the order of the tasks."""

        async def one(instance: Run, index: int) -> Trace:
            return await solve(instance, tasks[index], chain, self.how, self.said)

        if not tasks:
            return {}
        names = [item.sample for item in tasks]
        traces = await run.parallel("instance", names, one)
        return dict(zip(names, traces, strict=True))

    async def candidate(self, chain: Chain, parent: Candidate | None, iteration: int) -> Candidate | None:
        """A chain, evaluated and kept; None where the gate refuses it."""
        name = self.archive.next_id()
        async with self.run.span("candidate", name) as inner:
            traces: dict[str, Trace] = {}
            if parent is not None and self.is_gated and len(chain) > len(parent.chain):
                traces = await self.gated(inner, name, chain, parent)
                if not passes(parent.traces, traces):
                    return None
            rest = [item for item in self.tasks if item.sample not in traces]
            traces |= await self.evaluated(inner, chain, rest)
            ordered = {item.sample: traces[item.sample] for item in self.tasks}
            return self.keep(inner, Candidate(name, chain, ordered, parent, iteration))

    def keep(self, run: Run, candidate: Candidate) -> Candidate:
        """Add a candidate to the archive and tell of it."""
        self.archive.add(candidate)
        inputs = [layer.id for layer in candidate.chain]
        title = f"depth {candidate.depth}, mean {shown(candidate.mean)}"
        run.store("candidate", candidate.id, title, body(candidate.kept()), inputs)
        return candidate

    @property
    def is_gated(self) -> bool:
        """Whether children pass a gate: of one task alone, half is none."""
        return self.method.gate and len(self.tasks) > 1

    async def gated(self, run: Run, name: str, chain: Chain, parent: Candidate) -> dict[str, Trace]:
        """The traces of the gate's tasks; they are not solved again."""
        chosen = gate_tasks([item.sample for item in self.tasks], 1 + len(chain), self.run.random)
        traces = await self.evaluated(run, chain, [item for item in self.tasks if item.sample in chosen])
        passed = passes(parent.traces, traces)
        tasks = tuple(
            GateTask(task=task, parent=parent.traces[task].score, score=trace.score, success=trace.success)
            for task, trace in traces.items()
        )
        record = Gate(candidate=name, parent=parent.id, layer=chain[-1].id, tasks=tasks, passed=passed)
        run.store("gate", name, "passed" if passed else "refused", body(record), [parent.id, chain[-1].id])
        return traces

    async def focused(self, chain: Chain, parent: Candidate, iteration: int, focus: str) -> Candidate:
        """A child under the guard: one task is solved, all others take over their frozen best."""
        name = self.archive.next_id()
        async with self.run.span("candidate", name) as inner:
            item = next(item for item in self.tasks if item.sample == focus)
            solved = await self.evaluated(inner, chain, [item])
            before = self.archive.bests.get(focus)
            self.rotation.tell(focus, is_better(solved[focus], before[0] if before else None))
            traces, inherited = dict[str, Trace](), dict[str, str]()
            for task in (item.sample for item in self.tasks):
                if task == focus:
                    traces[task] = solved[task]
                else:
                    traces[task], inherited[task] = self.frozen(task)
            child = Candidate(name, chain, traces, parent, iteration, focus, inherited)
            return self.keep(inner, child)

    def frozen(self, task: str) -> tuple[Trace, str]:
        """The best trace of a task, and who it is from; the seed's where none is finite."""
        seed = self.archive.members[0]
        return self.archive.bests.get(task, (seed.traces[task], seed.id))

    # Omega

    async def layer(self, parent: Candidate, iteration: int, focus: str = "") -> LayerKept | None:
        """Ask for the layer above a candidate's chain; None where nothing usable comes."""
        self.written += 1
        name, depth = f"O{self.written}", parent.depth + 1
        evidence = self.evidence(parent, focus)
        made = omega.payload(evidence, self.run.random, self.method.context_tokens)
        temperatures = self.method.temperatures
        heat = temperatures[(self.written - 1) % len(temperatures)] if temperatures else None
        params = Params(model=self.method.omega_model, temperature=heat)
        async with self.run.span("omega", f"Omega, depth {depth}") as inner:
            reply = await _unless_hopeless(inner, made.prompt, params)
            pre_process, library, out = await screened(inner, written(reply), self.method.library)
            empty = not pre_process and not library
            call = OmegaCall(
                id=name,
                depth=depth,
                parent=parent.id,
                iteration=iteration,
                temperature=heat,
                model=self.method.omega_model,
                sampled=made.sampled,
                dropped_traces=made.dropped_traces,
                dropped_layers=made.dropped_layers,
                empty=empty and not out,
            )
            inner.store("omega_call", name, f"depth {depth} above {parent.id}", body(call), [parent.id])
            if empty and not out:
                instead = EMPTY if not focus else EMPTY_FOCUS
                inner.reject(f"no part of a layer in the reply: {instead}")
                return None
            self.layers += 1
            layer = LayerKept(
                id=f"L{self.layers}",
                depth=depth,
                rationale=written(reply).rationale[:LONGEST],
                pre_process=pre_process,
                library=library,
                screened=out,
                below=parent.chain[-1].id if parent.chain else "",
                parent=parent.id,
                call=name,
            )
            inner.store("layer", layer.id, layer_title(layer), body(layer), [name])
            return None if empty else layer

    def evidence(self, parent: Candidate, focus: str = "") -> omega.Evidence:
        """What Omega may know about a candidate."""
        before = parent.parent.traces if parent.parent is not None else {}
        known = {item.sample: self.known(item.sample) for item in self.tasks}
        evolving = self.method.mode == "evolutionary"
        bests = {
            task: trace.score for task, (trace, _) in self.archive.bests.items() if trace.score is not None
        }
        return omega.Evidence(
            parent.depth + 1,
            parent.traces,
            before,
            parent.chain,
            {item.sample: item.question for item in self.tasks},
            {task: facts.category for task, facts in self.method.tasks.items()},
            {task: best for task, best in known.items() if best is not None},
            bests if evolving else {},
            self.inspirations(parent) if evolving else (),
            self.method.library,
            focus,
        )

    def known(self, task: str) -> float | None:
        """The best that can be reached on a task: the top of the scale, else the best so far."""
        return self.method.score_range or self.archive.score(task)

    def inspirations(self, parent: Candidate) -> list[omega.Inspiration]:
        """Scripts of others on tasks where they beat the parent."""
        found = []
        for task, (best, holder) in self.archive.bests.items():
            own = parent.traces[task].score
            if holder != parent.id and best.script and best.score is not None and best.score > (own or 0.0):
                found.append(omega.Inspiration(task, own or 0.0, best.score, best.script))
        return found

    # Modes

    async def linear(self, seed: Candidate | None) -> StopReason:
        """A layer on top of the newest, until patience is at its end."""
        assert seed is not None
        latest = seed
        best_mean = seed.mean
        for iteration in range(1, self.method.iterations + 1):
            if self.spent():
                return "calls"
            if latest.depth >= self.method.max_depth:
                return "max_depth"
            self.begin(iteration)
            layer = await self.layer(latest, iteration)
            child = None
            if layer is not None:
                child = await self.candidate((*latest.chain, layer), latest, iteration)
            latest.children += 1
            gained = child is not None and self.is_gain(best_mean, child.mean)
            if child is not None:
                best_mean = _higher(best_mean, child.mean)
                latest = child if self.method.grow_from == "latest" else self.archive.best
            if self.settled(iteration, gained):
                return "converged"
        return "max_iterations"

    async def evolutionary(self, seed: Candidate | None) -> StopReason:
        """Children of an archive, until neither the best chain nor the best of the tasks rises."""
        for iteration in range(1, self.method.iterations + 1):
            if self.spent():
                return "calls"
            pool = self.archive.pool(self.method.max_depth, self.range())
            if not pool:
                return "nothing_extendable"
            self.begin(iteration)
            before = self.archive.best.mean, self.archive.task_mean
            for parent in parents(self.archive, pool, self.method.beam, self.method.alpha, self.run.random):
                for _ in range(self.method.branching):
                    await self.bred(parent, iteration)
            if self.width is None:
                self.width = self.archive.span_of_means()
            after = self.archive.best.mean, self.archive.task_mean
            gained = any(self.is_gain(old, new) for old, new in zip(before, after, strict=True))
            if self.settled(iteration, gained):
                return "converged"
        return "max_iterations"

    async def bred(self, parent: Candidate, iteration: int) -> Candidate | None:
        """One child of a parent; an empty layer and a refused child count as children too."""
        parent.children += 1
        if not self.method.guard:
            layer = await self.layer(parent, iteration)
            return None if layer is None else await self.candidate((*parent.chain, layer), parent, iteration)
        task, lacks, why = self.rotation.next(self.headrooms())
        record = Focus(candidate=f"C{self.archive.numbers}", task=task, headroom=lacks, why=why)
        self.run.store("focus", record.candidate, f"{task} ({why})", body(record), [parent.id])
        layer = await self.layer(parent, iteration, task)
        chain = parent.chain if layer is None else (*parent.chain, layer)
        return await self.focused(chain, parent, iteration, task)

    async def depth1(self, seed: Candidate | None) -> StopReason:
        """A control: the base solver again and again, the best of each task counts."""
        assert seed is not None
        return await self.repeated(lambda iteration: self.candidate(seed.chain, seed, iteration))

    async def object_level(self, seed: Candidate | None) -> StopReason:
        """A control: each task's own script is improved from its own trace, without any layer."""

        async def again(iteration: int) -> Candidate:
            name = self.archive.next_id()
            async with self.run.span("candidate", name) as inner:

                async def one(instance: Run, index: int) -> Trace:
                    return await self.revised(instance, self.tasks[index])

                names = [item.sample for item in self.tasks]
                traces = await inner.parallel("instance", names, one)
                found = dict(zip(names, traces, strict=True))
                return self.keep(inner, Candidate(name, (), found, seed, iteration))

        return await self.repeated(again)

    async def repeated(self, again: Any) -> StopReason:
        """Until the calls are spent, or else the iterations."""
        for iteration in range(1, self.method.iterations + 1):
            if self.spent():
                return "calls"
            self.begin(iteration)
            before = self.archive.best.mean, self.archive.task_mean
            await again(iteration)
            after = self.archive.best.mean, self.archive.task_mean
            gained = any(self.is_gain(old, new) for old, new in zip(before, after, strict=True))
            if self.settled(iteration, gained) and not self.method.calls:
                return "converged"
        return "max_iterations"

    async def revised(self, run: Run, item: StreamItem) -> Trace:
        """A task's best script so far, with its trace, is shown to the model that wrote it."""
        trace, _ = self.frozen(item.sample)
        evidence = omega.Evidence(2, {item.sample: trace})
        prompt = filled(
            text("meta_n_object"),
            solver=solver_prompt(item, "", {}, self.how),
            trace=omega.shown_trace(trace, evidence),
        )
        attempt = Attempt(item, (), 1)
        try:
            attempt.script = script_in((await run.ask([user(prompt)], self.how.params)).text)
            if attempt.script:
                await attempt.executed(run, {}, self.how)
            return await attempt.graded(run)
        except Stopped:
            raise
        except CallFailed as error:
            if error.kind not in HOPELESS:
                raise
            return Trace(item.sample, 1, summary=error.kind, failure="environment fault")

    # Counting

    def begin(self, iteration: int) -> None:
        """Tell that an iteration begins."""
        self.iteration = iteration
        self.run.round(iteration, self.method.iterations)
        self.run.budget()

    def spent(self) -> bool:
        """Whether the calls that a control or a run may make are used up."""
        return bool(self.method.calls) and self.run.calls >= self.method.calls

    def range(self) -> float:
        """The width of the score scale: set, or frozen after the first iteration."""
        return self.width if self.width is not None else self.archive.span_of_means()

    def is_gain(self, before: float | None, after: float | None) -> bool:
        """Whether a mean rose by more than epsilon times the range."""
        if after is None:
            return False
        return before is None or after - before > self.method.epsilon * self.range()

    def settled(self, iteration: int, gained: bool) -> bool:
        """Count an iteration; whether patience is at its end."""
        self.patience = 0 if gained else self.patience + 1
        self.tell_best(iteration, gained)
        return self.patience >= self.method.patient

    def headrooms(self) -> dict[str, float]:
        """What each task lacks to the top of the scale (or to the best score of any task)."""
        scores = {item.sample: self.archive.score(item.sample) for item in self.tasks}
        known = [score for score in scores.values() if score is not None]
        top = self.method.score_range or max(known, default=0.0)
        return {task: max(0.0, top - (score or 0.0)) for task, score in scores.items()}

    def tell_best(self, iteration: int, improved: bool = False) -> None:
        """Tell where the archive stands."""
        archive, best = self.archive, self.archive.best
        record = ArchiveBest(
            iteration=iteration,
            best=best.id,
            mean=best.mean,
            task_mean=archive.task_mean,
            tasks={task: holder for task, (_, holder) in archive.bests.items()},
            scores={task: trace.score for task, (trace, _) in archive.bests.items()},
            improved=improved,
            patience=self.patience,
            size=len(archive),
        )
        title = f"best chain {best.id} {shown(best.mean)}, best of tasks {shown(archive.task_mean)}"
        self.run.store("archive_best", str(iteration), title, body(record), [best.id])

    async def finish(self, reason: StopReason, seed: Candidate | None) -> Solution:
        """Held-out tasks, the answers of the result (the best chain's; under the guard the retained
        ones), where each task goes, and why the run ended."""
        best = self.archive.best
        answers = {task: trace.answer for task, trace in best.traces.items()}
        for one in dict.fromkeys([SEED, best.id]) if self.held else ():
            traces = await self.apart(next(c for c in self.archive.members if c.id == one))
            answers |= {task: trace.answer for task, trace in traces.items()}
        if self.method.guard:
            answers |= {task: trace.answer for task, (trace, _) in self.archive.bests.items()}
        for item in (*self.tasks, *self.held):
            async with self.run.span("instance", item.sample) as inner:
                if answers[item.sample]:
                    inner.answered(answers[item.sample])
        if self.method.guard:
            routes = {task: holder for task, (_, holder) in self.archive.bests.items()}
            record = Routed(tasks=routes, mean=self.archive.task_mean)
            title = "retained results of tasks, not one chain for all"
            self.run.store("routed", "routed", title, body(record), sorted(set(routes.values())))
        stop = StopKept(
            reason=reason,
            best=best.id,
            mean=best.mean,
            task_mean=self.archive.task_mean,
            iterations=self.iteration,
        )
        title = f"{reason}: {best.id}, mean {shown(best.mean)}"
        self.run.store("stop", reason, title, body(stop), [best.id])
        return Solution(None, reason, status="completed")

    async def apart(self, candidate: Candidate) -> dict[str, Trace]:
        """A chain on the held-out tasks."""
        async with self.run.span("held_out", candidate.id) as inner:
            traces = await self.evaluated(inner, candidate.chain, self.held)
            scores = tuple(trace.kept() for trace in traces.values())
            record = HeldOut(
                candidate=candidate.id, mean=mean_of(t.score for t in traces.values()), scores=scores
            )
            title = f"held-out mean {shown(record.mean)}"
            inner.store("held_out", candidate.id, title, body(record), [candidate.id])
            return traces


def _higher(a: float | None, b: float | None) -> float | None:
    known = [x for x in (a, b) if x is not None]
    return max(known) if known else None


async def _unless_hopeless(run: Run, prompt: str, params: Params) -> str:
    """Omega's reply; empty where the call failed in a way that asking again does not mend."""
    try:
        return (await run.ask([user(prompt)], params)).text
    except Stopped:
        raise
    except CallFailed as error:
        if error.kind not in HOPELESS:
            raise
        run.reject(f"{error.kind}: no layer comes of this call")
        return ""
