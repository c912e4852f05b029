"""A live run of agentic meta-reasoning against a real local model, held to the forms by a grammar."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from live_runs import KEY
from local_model import NAME

from meta_tui.chat import Params
from meta_tui.events import Replied, RunFinished, Stored
from meta_tui.methods import build
from meta_tui.methods.artifacts import trace
from meta_tui.models.litellm_model import LitellmModel
from meta_tui.run import Doors, RunResult
from meta_tui.runlog import read
from meta_tui.sources import header, live, replay

GRAMMAR = r"""
root ::= worker | batch | submit
worker ::= "<title>" word "</title>\nANSWER: " digit "\nconfidence: " ("HIGH" | "LOW")
batch ::= "{\"tool\": \"run_workers\", \"arguments\": {\"num_repeats\": 2, \"subagent_prompts\": [\"" word " " word "\"], \"memory_blocks\": [[], [\"0_0\"]]}}"
submit ::= "{\"tool\": \"finish\", \"arguments\": {\"memory_id\": \"" digit "_" digit "\", \"result\": \"" digit "\"}}"
word ::= [a-z] [a-z] [a-z] [a-z]
digit ::= [0-9]
"""
"""Three forms that every role may use; which one it is, the model decides."""

SETTINGS: dict[str, dict[str, Any]] = {
    "meta_reasoning": {"budget": 6, "stage_calls": 2, "instruction_chars": 0}
    | {stage: f"You {stage}." for stage in ("assess", "propose", "evaluate", "dispatch")},
    "direct_control": {"budget": 5, "control": "You control workers."},
}
"""Short prompts: reading them costs this model seconds."""


@pytest.mark.local_model
@pytest.mark.parametrize("method", ["meta_reasoning", "direct_control"])
def test_a_real_model_with_a_grammar_ends_with_a_status_and_replays_exactly(
    local_url: str, home: Path, tmp_path: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("META_TUI_API_KEY", KEY)
    log = tmp_path / "run.jsonl"
    built = build(method, {"tools": "text", **SETTINGS[method]})
    params = Params(temperature=0.8, seed=7, max_tokens=60, extra_body={"grammar": GRAMMAR})
    started = header(built, "How many fingers has a hand?", model=NAME, params=params)

    async def work() -> RunResult:
        model = LitellmModel(local_url, timeout=60, deadline=100, retries=0)
        try:
            return await live(built, started, Doors(model), log=log)
        finally:
            await model.aclose()

    result = asyncio.run(work())
    recording = read(log)
    end = recording.finished
    assert isinstance(end, RunFinished)
    assert end.status in ("answered", "no_answer")
    assert end.reason in ("stopped", "forced", "no_answer")
    assert len([e for e in recording.events if isinstance(e, Replied)]) == result.calls
    again = asyncio.run(replay(recording))
    assert (again.status, again.reason, again.answer) == (result.status, result.reason, result.answer)
    if method == "meta_reasoning":
        assert result.answer in {e.body for e in recording.events if isinstance(e, Stored)}
        assert tuple(dict.fromkeys(trace(recording.events).strip))[:4] == (
            "assess",
            "propose",
            "evaluate",
            "dispatch",
        )
