"""The offline embedder and the choice between it and a model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from hashlib import sha1
from pathlib import Path

import pytest
from mc2_runs import by_role, stream
from scripted_runs import again, run

from meta_tui.events import AnyEvent, Embedded, EmbedStarted, How
from meta_tui.methods import build
from meta_tui.methods.embedding import cosine, hashed, normalised, reduced
from meta_tui.models.scripted import ScriptedModel
from meta_tui.run import Doors
from meta_tui.sources import header


def test_a_text_is_512_numbers_of_length_one_and_the_same_every_time() -> None:
    vector = hashed("Draw the circle, then the CIRCLE again.")
    assert len(vector) == 512
    assert math.isclose(sum(v * v for v in vector), 1)
    assert vector == hashed("draw the circle then the circle again")


def test_one_token_stands_in_one_signed_bucket_that_its_sha1_names() -> None:
    """Worked out by hand from the digest of the token."""
    digest = sha1(b"circle").digest()
    bucket, sign = int.from_bytes(digest[:4], "big") % 512, 1.0 if digest[4] % 2 else -1.0
    expected = [0.0] * 512
    expected[bucket] = sign
    assert hashed("Circle!") == expected


def test_neighbours_count_so_word_order_matters() -> None:
    assert 0 < cosine(hashed("man bites dog"), hashed("dog bites man")) < 1


def test_a_text_without_a_token_is_zero_and_like_nothing() -> None:
    assert hashed("—?!") == [0.0] * 512
    assert cosine(hashed(""), hashed("circle")) == 0
    assert normalised([0.0, 0.0]) == [0.0, 0.0]


def test_cosines_by_hand() -> None:
    assert cosine([1, 0], [1, 0]) == 1
    assert cosine([1, 0], [0, 2]) == 0
    assert cosine([3, 4], [4, 3]) == 0.96
    assert cosine([1, 0], [-2, 0]) == -1
    assert cosine([1.0], [1.0, 0.0]) == 0


def test_reducing_keeps_the_length_and_is_fixed() -> None:
    small = reduced(hashed("what is open, what is settled"), 32)
    assert len(small) == 32
    assert math.isclose(sum(v * v for v in small), 1)
    assert small == reduced(hashed("what is open, what is settled"), 32)


class Vectors:
    """Two dimensions a text; `asked` keeps what was embedded."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    async def embed(self, model: str, texts: Sequence[str]) -> tuple[list[list[float]], How]:
        self.asked.append((model, tuple(texts)))
        return [[1.0, float(len(text))] for text in texts], How("written")


class Right:
    async def score(self, sample: str, answer: str) -> tuple[str, float, str]:
        return "strict", 1.0, ""


@pytest.mark.parametrize("name", ["hashing", "provider/embedder"])
def test_the_choice_is_a_setting_in_the_log_and_a_model_is_recorded_and_replayed(
    name: str, tmp_path: Path
) -> None:
    method, vectors, log = build("mc2", {"batch": 2, "embedder": name}), Vectors(), tmp_path / "run.jsonl"
    started = header(method, "q", model="m", stream=stream(4))
    events: list[AnyEvent] = []
    doors = Doors(ScriptedModel(by_role), embedder=vectors, scorer=Right())
    run(method, started, doors, log, consumers=[events.append])
    assert started.settings["embedder"] == name
    asked = [e for e in events if isinstance(e, EmbedStarted)]
    assert len(asked) == len(vectors.asked) == sum(isinstance(e, Embedded) for e in events)
    assert bool(asked) == (name != "hashing")
    assert {model for model, _ in vectors.asked} <= {name}
    assert again(log).status == "completed"
