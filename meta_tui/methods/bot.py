"""Buffer of thoughts: problems are solved by templates that earlier problems left behind.

Source: Yang et al. 2024 (arXiv 2406.04271) and the authors' code, without code execution, as in
MC2's comparison (arXiv 2604.17399). The buffer is carried over a stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, ClassVar, Literal

import msgspec

from meta_tui.chat import Value, canonical_json
from meta_tui.events import Stored, StreamItem
from meta_tui.methods.asking import ask_text, filled, json_object
from meta_tui.methods.cot import solution
from meta_tui.methods.embedding import HASHING, Vector, cosine, embed
from meta_tui.methods.field import final_field
from meta_tui.methods.prompts import text
from meta_tui.methods.stream import each
from meta_tui.run import Run, Solution

CATEGORIES = (
    "text comprehension",
    "creative language",
    "common sense",
    "mathematics",
    "code",
    "scheduling",
)


class Template(Value, frozen=True):
    """A thought template; `description` is what it is found by."""

    description: str
    category: str
    template: str


class Buffer(Value, frozen=True):
    """The meta-buffer: templates in the order in which they were added."""

    templates: tuple[Template, ...] = ()

    def lines(self) -> list[str]:
        """Every template, for people."""
        return [f"{one.category}: {one.description}" for one in self.templates]


Shelf = list[tuple[Template, Vector]]


class BoT(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Take the problem apart, fill in the nearest thought template, and keep a new one.

    Attributes:
        threshold: delta: a problem whose nearest template is less alike than this is new, and a
            new template is kept only if it is less alike than this to all others.
        update_on: templates are made after every answer, or only after one that was right.
        embedder: `hashing` (offline), or the name of an embedding model.
        knowledge: the buffer of an earlier run (`meta-tui knowledge export`).
    """

    id: ClassVar[str] = "bot"
    streams: ClassVar[bool] = True

    threshold: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.6
    update_on: Literal["always", "success"] = "always"
    embedder: str = HASHING
    knowledge: Buffer | None = None

    def carried(self, kept: Iterable[Stored]) -> Buffer:
        """The buffer that a run with these settings left behind, from what it stored."""
        added = [msgspec.json.decode(one.body, type=Template) for one in kept if one.kind == "template"]
        return Buffer((*(self.knowledge or Buffer()).templates, *added))

    async def solve(self, run: Run, question: str) -> Solution:
        """One question after the other; the buffer goes with them."""
        known = (self.knowledge or Buffer()).templates
        vectors = await embed(run, [template.description for template in known], self.embedder)
        shelf = list(zip(known, vectors, strict=True))

        async def one(instance: Run, item: StreamItem) -> Solution:
            return await self.one(instance, item, shelf)

        return await each(run, question, one, in_turn=True)

    async def one(self, run: Run, item: StreamItem, shelf: Shelf) -> Solution:
        """Distil, retrieve, instantiate, and manage the buffer (which grows in place)."""
        async with run.span("stage", "Distil") as inner:
            distilled = await ask_text(inner, filled(text("bot_distil"), question=item.question))
        template = await self.retrieve(run, distilled, shelf)
        async with run.span("stage", "Instantiate") as inner:
            reply = await ask_text(inner, _instantiate(item.question, distilled, template))
        found = solution(run, final_field(reply))
        if found.answer is not None and await self.updates(run, found.answer):
            await self.manage(run, distilled, reply, shelf)
        return found

    async def retrieve(self, run: Run, distilled: str, shelf: Shelf) -> Template | None:
        """The nearest template; None where the problem is new."""
        (query,) = await embed(run, [distilled], self.embedder)
        near = [cosine(query, vector) for _, vector in shelf]
        best = max(range(len(near)), key=near.__getitem__, default=None)
        if best is None or near[best] < self.threshold:
            run.store("retrieval", "retrieval", "new: a coarse template is used")
            return None
        body = canonical_json({"similarity": round(near[best], 6)}).decode()
        run.store("retrieval", "retrieval", shelf[best][0].description, body, [f"T{best + 1}"])
        return shelf[best][0]

    async def updates(self, run: Run, answer: str) -> bool:
        """Whether this answer may leave a template behind."""
        if self.update_on == "always":
            return True
        return bool(run.started.stream) and (await run.score(answer)).value >= 1

    async def manage(self, run: Run, distilled: str, solved: str, shelf: Shelf) -> None:
        """Make a template of the solution and keep it if it is new."""
        asked = filled(text("bot_template"), distilled=distilled, solution=solved, form=text("bot_form"))
        async with run.span("stage", "Template") as inner:
            made = read_template(await ask_text(inner, asked))
            if made is None:
                inner.reject("no template in the expected form: none is added")
                return
        (vector,) = await embed(run, [made.description], self.embedder)
        if is_new(vector, [old for _, old in shelf], self.threshold):
            shelf.append((made, vector))
            body = canonical_json(made).decode()
            run.store("template", f"T{len(shelf)}", made.description, body)


def is_new(vector: Vector, others: Sequence[Vector], threshold: float) -> bool:
    """Whether a template is less alike than the threshold to every other."""
    return max((cosine(vector, other) for other in others), default=-1.0) < threshold


def read_template(reply: str) -> Template | None:
    """The template of a reply; None if it is not of the form."""
    found = json_object(reply) or {}
    said = [found.get(name) for name in ("description", "category", "template")]
    if not all(isinstance(value, str) and value.strip() for value in said):
        return None
    description, category, template = (str(value).strip() for value in said)
    return Template(description, category.lower(), template) if category.lower() in CATEGORIES else None


def _instantiate(question: str, distilled: str, template: Template | None) -> str:
    if template is None:
        return filled(text("bot_coarse"), distilled=distilled, question=question)
    return filled(text("bot_instantiate"), distilled=distilled, question=question, template=template.template)
