"""A log is linear in its distinct text, although the history is sent again every round."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from scripted_runs import again, run

from meta_tui.methods import build
from meta_tui.models.base import Call
from meta_tui.models.scripted import ScriptedModel
from meta_tui.run import Doors
from meta_tui.sources import header

LENGTH = 2000


def talk(rounds: int, log: Path) -> int:
    """A run in which every reply has 2,000 characters; bytes of its distinct messages and replies."""
    numbers = itertools.count()
    seen: set[tuple[str, str]] = set()

    def answer(call: Call) -> str:
        seen.update((m.role, m.content) for m in call.request.messages)
        number = next(numbers)
        words = " ".join(f"word {number} {i}," for i in range(LENGTH))
        if call.role == "expert":
            text = words[:LENGTH]
        else:
            lead = f'Let us go on with step {number}.\n\nExpert Ada:\n"""\n'
            text = lead + words[: LENGTH - len(lead) - 4] + '\n"""'
        assert len(text) == LENGTH
        seen.add(("assistant", text))
        return text

    method = build("meta_prompting", {"rounds": rounds, "notice_round": rounds})
    run(method, header(method, "q", model="m"), Doors(ScriptedModel(answer)), log)
    assert again(log).reason == "round_limit"
    return sum(len(content.encode()) for _, content in seen)


def test_fifteen_rounds_take_at_most_half_as_much_again_as_their_text(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    text = talk(15, log)
    assert text > 15 * 3 * LENGTH
    assert log.stat().st_size <= 1.5 * text


def test_twice_the_rounds_take_twice_the_room(tmp_path: Path) -> None:
    """15, 30 and 60 rounds, within 10 %."""
    sizes = []
    for rounds in (15, 30, 60):
        log = tmp_path / f"{rounds}.jsonl"
        talk(rounds, log)
        sizes.append(log.stat().st_size)
    assert [b / a for a, b in itertools.pairwise(sizes)] == pytest.approx([2.0, 2.0], rel=0.1)
