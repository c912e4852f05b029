"""Both corpora whole, with the policy alone and the limits of real runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from sandbox_programs import (
    OWN,
    SHARED,
    SYSTEM_LAYERS,
    attacks,
    broke_a_limit,
    got_through,
    missing_layers,
    run_all,
)

from meta_tui.chat import Limits, Program

LIMITS = Limits(seconds=4)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("corpus", [OWN, SHARED], ids=["own", "shared"])
@pytest.mark.parametrize(
    "without", [(), tuple(SYSTEM_LAYERS), ("landlock", "seccomp")], ids=["all", "policy", "degraded"]
)
def test_nothing_gets_through_and_nothing_breaks_a_limit(corpus: Path, without: tuple[str, ...]) -> None:
    missing_layers()
    chosen = attacks(corpus)
    results = run_all((Program(attack.code, limits=LIMITS) for attack in chosen), without=without)
    assert got_through(chosen, results) == []
    assert broke_a_limit(chosen, results, LIMITS) == []
    for _, how in results:
        assert not set(without) & set(how.layers)
        assert all(name in how.note for name in without)
