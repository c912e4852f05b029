"""What holds for the samples of every family, whatever it asks."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from typing import Any

import msgspec
import pytest

from meta_tui.errors import UsageError
from meta_tui.tasks import FAMILIES, Sample, decode, family
from meta_tui.tasks.generating import split_of
from meta_tui.tasks.loaders import encode

MADE = [task for task in FAMILIES if task != "math"]
FEW = 40
"""Samples of a seed; enough for every kind of every family but one."""

SPLITS = {"train": 1, "dev": 1001, "test": 2001}


@cache
def samples(task: str, seed: int, count: int = FEW) -> tuple[Sample, ...]:
    return tuple(family(task).generate(index, seed) for index in range(count))


def few(task: str) -> int:
    """Fewer where a sample takes long."""
    return {"checkmate": 8, "grids": 12}.get(task, FEW)


@pytest.mark.parametrize("task", MADE)
def test_a_sample_names_its_task_and_place_and_says_what_it_is(task: str) -> None:
    for index, sample in enumerate(samples(task, 2001, few(task))):
        assert (sample.task, sample.index, sample.id) == (task, index, f"{task}:{index}")
        assert sample.meta["difficulty"] in ("easy", "medium", "hard")
        assert sample.meta["kind"]
        assert isinstance(sample.meta["witness"], str)
        assert sample.meta["split"] == "test"


@pytest.mark.parametrize(
    ("seed", "split"), [(0, "train"), (999, "train"), (1000, "dev"), (1999, "dev"), (2000, "test")]
)
def test_the_split_goes_by_seed(seed: int, split: str) -> None:
    assert split_of(seed) == split
    assert family("arithmetic").generate(0, seed).meta["split"] == split


@pytest.mark.parametrize("task", MADE)
def test_no_question_stands_twice_in_a_set(task: str) -> None:
    for seed in SPLITS.values():
        made = samples(task, seed, few(task))
        assert len({sample.input for sample in made}) == len(made)


def test_a_sample_does_not_depend_on_those_made_before_it() -> None:
    """A fresh process that makes sample 7 alone gets the bytes of the seventh of many."""
    script = (
        "import sys; from meta_tui.tasks import family; from meta_tui.tasks.loaders import encode; "
        f"sys.stdout.write(''.join(encode(family(task).generate(7, 2001)) for task in {MADE!r}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "".join(encode(samples(task, 2001, few(task))[7]) for task in MADE)


@pytest.mark.parametrize("task", MADE)
def test_another_seed_asks_something_else(task: str) -> None:
    first = {sample.input for sample in samples(task, 2001, 8)}
    second = {family(task).generate(index, 2002).input for index in range(8)}
    assert len(first & second) < 4


@pytest.mark.parametrize("task", MADE)
def test_a_sample_is_plain_json_that_reads_back_the_same(task: str) -> None:
    for sample in samples(task, 2001, few(task)):
        line = encode(sample)
        assert line.startswith('{"input":')
        assert list(json.loads(line))[:2] == ["input", "target"]
        assert decode(line) == sample or msgspec.to_builtins(decode(line)) == json.loads(line)


@pytest.mark.parametrize("task", [task for task in MADE if task not in ("words", "grids")])
def test_the_question_does_not_hold_the_witness(task: str) -> None:
    """Apart from words and small numbers, which a question may hold by chance."""
    for sample in samples(task, 2001, few(task)):
        witness = str(sample.meta["witness"])
        if len(witness) > 8:
            assert witness not in family(task).question(sample)


@pytest.mark.parametrize(
    ("task", "options", "needle"),
    [
        ("game24", {"stratum": "nice"}, "stratum"),
        ("game24", {"unsolvable": 1.5}, "unsolvable"),
        ("checkmate", {"mates": 7}, "mates"),
        ("shapes", {"options": 9}, "options"),
        ("arithmetic", {"depth": 0}, "depth"),
        ("words", {"least": 1}, "least"),
        ("puzzles", {"level": 9}, "level"),
        ("mgsm", {"language": "xx"}, "language"),
        ("theorem", {"area": "alchemy"}, "area"),
        ("grids", {"depth": 4}, "depth"),
        ("opt", {"kind": "nice"}, "kind"),
        ("symreg", {"noise": -1.0}, "noise"),
    ],
)
def test_an_option_out_of_range_is_refused_by_name(task: str, options: dict[str, Any], needle: str) -> None:
    with pytest.raises(UsageError, match=needle):
        family(task).generate(0, 1, **options)


@pytest.mark.parametrize("task", MADE)
def test_the_options_that_a_family_names_are_its_generators_defaults(task: str) -> None:
    """Giving them all changes nothing."""
    found = family(task)
    assert found.generate(3, 2001, **found.options) == found.generate(3, 2001)


@pytest.mark.parametrize("task", MADE)
def test_a_negative_index_or_seed_is_refused(task: str) -> None:
    for index, seed in ((-1, 1), (0, -1)):
        with pytest.raises(UsageError):
            family(task).generate(index, seed)


@pytest.mark.parametrize("task", ["theorem", "grids", "opt", "symreg"])
def test_kinds_that_are_held_out_come_in_test_samples_only(task: str) -> None:
    count = 60
    options = {"depth": 1} if task == "grids" else {}
    held = {
        split: sum(
            bool(family(task).generate(index, seed, **options).meta["held_out"]) for index in range(count)
        )
        for split, seed in SPLITS.items()
    }
    assert held["train"] == held["dev"] == 0
    assert held["test"] >= 3
