"""Nothing of two hostile corpora gets through, and nothing breaks a limit.

An attack prints ESCAPED or writes a file `hostile_*` when it gets through. Every corpus is tried
with all layers; the attacks on the system also with the system's layers alone, where Python itself
refuses nothing.
"""

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
    needs_layers,
    run_all,
)

from meta_tui.chat import Limits, Program

LIMITS = Limits(seconds=1.0, memory=512 << 20)

STOPPED_BY_THE_SYSTEM = frozenset(
    "io-fileio io-fd io-socket io-breakpoint np-load np-save np-dump np-memmap proc-thread proc-popen "
    "proc-kill proc-gc imp-ctypes sy-solve".split()
)
"""Attacks of the shared corpus whose aim is a file, a socket, a process, a thread or C itself."""


def test_the_own_corpus_has_at_least_the_agreed_size_and_no_snippet_twice() -> None:
    own = attacks(OWN)
    assert len(own) >= 150
    assert len({attack.id for attack in own}) == len({attack.code for attack in own}) == len(own)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("corpus", [OWN, SHARED], ids=["own", "shared"])
def test_no_attack_gets_through_or_breaks_a_limit(corpus: Path) -> None:
    missing_layers()
    chosen = attacks(corpus)
    results = run_all(Program(attack.code, limits=LIMITS) for attack in chosen)
    assert got_through(chosen, results) == []
    assert broke_a_limit(chosen, results, LIMITS) == []


@pytest.mark.timeout(300)
@pytest.mark.parametrize("corpus", [OWN, SHARED], ids=["own", "shared"])
def test_the_policy_alone_blocks_what_must_be_blocked(corpus: Path) -> None:
    """Also where a machine has no layer of its system: the policy and the app's clock are left.

    Attacks on libraries take long to start; tests/long has them too, and those to be contained.
    """
    missing_layers()
    chosen = [
        attack for attack in attacks(corpus) if attack.must == "blocked" and attack.category != "thirdparty"
    ]
    programs = [Program(attack.code, limits=LIMITS) for attack in chosen]
    results = run_all(programs, without=SYSTEM_LAYERS)
    assert got_through(chosen, results) == []
    assert broke_a_limit(chosen, results, LIMITS) == []


def test_the_system_alone_stops_attacks_on_the_system() -> None:
    """Plain Python, unrestricted, in the same locked process."""
    needs_layers("landlock", "seccomp", "audit")
    chosen = [attack for attack in attacks(OWN) if attack.category == "os"]
    results = run_all(Program(attack.code, limits=LIMITS, profile="os_only") for attack in chosen)
    assert got_through(chosen, results) == []
    assert broke_a_limit(chosen, results, LIMITS) == []


def test_the_system_alone_stops_files_sockets_and_processes_of_the_shared_corpus() -> None:
    needs_layers("landlock", "seccomp", "audit")
    chosen = [attack for attack in attacks(SHARED) if attack.id in STOPPED_BY_THE_SYSTEM]
    results = run_all(Program(attack.code, limits=LIMITS, profile="os_only") for attack in chosen)
    assert got_through(chosen, results) == []


@pytest.mark.timeout(300)
def test_the_system_alone_contains_what_the_shared_corpus_wants_contained() -> None:
    needs_layers("landlock", "seccomp")
    chosen = [attack for attack in attacks(SHARED) if attack.must == "contained"]
    results = run_all(Program(attack.code, limits=LIMITS, profile="os_only") for attack in chosen)
    assert broke_a_limit(chosen, results, LIMITS) == []


def test_an_attack_that_works_under_plain_python_is_seen_as_one() -> None:
    """The marker is what the tests go by, so it must appear where nothing stops an attack."""
    needs_layers("landlock", "seccomp")
    chosen = [attack for attack in attacks(OWN) if attack.id in ("function-builtins", "object-reduce")]
    results = run_all(Program(attack.code, limits=LIMITS, profile="os_only") for attack in chosen)
    assert got_through(chosen, results) == [attack.id for attack in chosen]
