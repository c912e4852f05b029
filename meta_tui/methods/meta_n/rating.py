"""A model as the second rater of layers: one call a layer, a fixed codebook, recorded like any run.

It solves nothing: its run is what `chain report` compares the rater by rules with, offline.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from meta_tui.chat import Value, user
from meta_tui.methods.asking import ask_read, filled
from meta_tui.methods.meta_n.omega import shown_layer
from meta_tui.methods.meta_n.records import LayerKept, body
from meta_tui.methods.meta_n.roles import CODEBOOK, OTHER, read_roles
from meta_tui.methods.prompts import text
from meta_tui.run import Run, Solution

FORM = 'Reply with one JSON object, {"roles": [...]}, and with names of the list only.'


class Rated(Value, frozen=True, kw_only=True):
    """The roles that a model gave a layer (`Stored.kind` roles, id of the layer).

    Attributes:
        read: whether its reply could be read; else the layer counts as `other`.
    """

    layer: str
    roles: tuple[str, ...]
    read: bool = True


class LayerRoles(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model names the roles of layers that another run wrote.

    Attributes:
        layers: what is rated.
    """

    id: ClassVar[str] = "meta_n_roles"

    layers: tuple[LayerKept, ...] = ()

    async def solve(self, run: Run, question: str) -> Solution:
        """One layer after the other, at once; what was named is kept."""
        codes = "\n".join(f"- {role}: {meaning}" for role, meaning in CODEBOOK.items())

        async def one(inner: Run, index: int) -> Rated:
            layer = self.layers[index]
            prompt = filled(text("meta_n_roles"), codebook=codes, layer=shown_layer(layer))
            found, _ = await ask_read(inner, [user(prompt)], read_roles, FORM)
            return Rated(layer=layer.id, roles=tuple(sorted(found or {OTHER})), read=found is not None)

        names = [layer.id for layer in self.layers]
        for rated in await run.parallel("rater", names, one) if names else []:
            run.store("roles", rated.layer, ", ".join(rated.roles), body(rated), [rated.layer])
        return Solution(f"{len(names)} layers rated", "rated")
