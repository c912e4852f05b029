"""Workers of agentic meta-reasoning: what one is shown, and how a batch becomes artifacts.

Source: Thinking Before Thinking (arXiv 2609.38147); the same for the staged controller and for Direct Control, so that
the two differ in nothing but who decides. A worker sees the problem, the bodies that were chosen
for it and its instruction: no ids, no titles, no state and no budget.
"""

from __future__ import annotations

from collections.abc import Sequence

from meta_tui.chat import Message, user
from meta_tui.errors import CallFailed, Stopped
from meta_tui.methods.artifacts import FAILED, ID, Artifact, Memory, anonymous, read_worker, worker_name
from meta_tui.methods.deliberation import Batch
from meta_tui.methods.prompts import text
from meta_tui.run import Run


async def run_batch(
    run: Run, question: str, memory: Memory, batch: Batch, cycle: int, spent: int, stage: str
) -> list[Artifact]:
    """Run a batch and store its artifacts in index order, whatever order they come back in.

    Args:
        spent: calls of this method before the batch.
    """
    ids = [memory.next_id(cycle, ahead) for ahead in range(len(batch.instructions))]
    contexts = [known(run, memory, chosen) for chosen in batch.contexts]
    for id, instruction, context in zip(ids, batch.instructions, contexts, strict=True):
        run.store("instruction", id, body=instruction, inputs=context)
        if ID.search(instruction):
            run.store("flag", id, "id_in_instruction")

    async def work(worker: Run, index: int) -> str:
        shown = [memory[id] for id in contexts[index]]
        try:
            return (await worker.ask(prompt(question, shown, batch.instructions[index]))).text
        except Stopped:
            raise
        except CallFailed:
            return FAILED

    replies = await run.parallel("worker", [worker_name(id) for id in ids], work)
    return [
        _stored(run, memory, reply, cycle, context, instruction, spent + number, stage)
        for number, (reply, context, instruction) in enumerate(
            zip(replies, contexts, batch.instructions, strict=True), 1
        )
    ]


def known(run: Run, memory: Memory, chosen: Sequence[str]) -> tuple[str, ...]:
    """The ids that exist, each once; the others are dropped and flagged."""
    for id in dict.fromkeys(chosen):
        if id not in memory:
            run.store("flag", id[:40], "unknown_id_in_memory_blocks")
    return tuple(id for id in dict.fromkeys(chosen) if id in memory)


def prompt(question: str, shown: Sequence[Artifact], instruction: str) -> list[Message]:
    """All that a worker is sent."""
    parts = [f"Problem:\n{question}"]
    if shown:
        parts += [text("amr_worker_prior"), *map(anonymous, shown)]
    if instruction.strip():
        parts.append(f"Instruction:\n{instruction}")
    return [user("\n\n".join([*parts, text("amr_worker_form")]))]


def _stored(
    run: Run,
    memory: Memory,
    reply: str,
    cycle: int,
    context: tuple[str, ...],
    instruction: str,
    at: int,
    stage: str,
) -> Artifact:
    read = read_worker(reply)
    artifact = memory.add(
        Artifact(
            id=memory.next_id(cycle),
            title=read.title,
            body=read.body,
            cycle=cycle,
            stage=stage,
            context=context,
            instruction=instruction,
            confidence=read.confidence,
            answer=None if reply == FAILED else read.answer,
            available_at=at,
        )
    )
    run.store("artifact", artifact.id, artifact.title, artifact.body, context)
    run.keep(artifact.body)
    return artifact
