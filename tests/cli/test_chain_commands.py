"""`chain show | export | rate | report` and `solve --chain` from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from meta_n_runs import PACK, layer, layer_reply, say, script

from meta_tui import store
from meta_tui.cli import main
from meta_tui.methods.meta_n.chains import ChainFile, from_json, to_json
from meta_tui.runlog import read


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own."""
    monkeypatch.setenv("META_TUI_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def said(tmp_path: Path, *texts: str) -> str:
    """A script of these replies."""
    path = tmp_path / "script.jsonl"
    path.write_text("\n".join(json.dumps({"text": text}) for text in texts), encoding="utf-8")
    return f"script:{path}"


def json_of(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    code = main([*words, "--json"])
    out = capsys.readouterr()
    assert code == 0, out
    return json.loads(out.out)


ORDER = "```python\ndef solve():\n    return list(range(len(data['places'])))\n```"
LAYER = layer_reply(
    say("Turn round."),
    "Tries the other way.",
    turned='def turned(n):\n    """T."""\n    return list(range(n))[::-1]',
)
TURNED = "```python\ndef solve():\n    return turned(len(data['places']))\n```"


def bred(tmp_path: Path, capsys: pytest.CaptureFixture[str], *more: str) -> Any:
    """One layer around one real sample, through the command line."""
    model = said(tmp_path, ORDER, LAYER, TURNED)
    return json_of(
        capsys,
        "solve",
        "--stream",
        "opt:0-0",
        "--method",
        "meta_n",
        "--model",
        model,
        "--set",
        "iterations=1",
        *more,
    )


def test_layers_are_bred_exported_and_used_on_another_question(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = bred(tmp_path, capsys)
    assert (run["status"], run["reason"]) == ("completed", "converged")
    path = tmp_path / "chain.json"
    made = json_of(capsys, "chain", "export", run["run"], "--candidate", "C1", "--to", str(path))
    assert made == {"candidate": "C1", "layers": 1, "path": str(path)}
    again = json_of(
        capsys, "solve", "--sample", "opt:11", "--chain", str(path), "--model", said(tmp_path, TURNED)
    )
    assert (again["status"], again["method"]) == ("answered", "meta_n")
    assert json.loads(again["answer"]) == list(range(11))[::-1]
    recording = read(Path(again["path"]))
    prompt = next(e for e in recording.events if type(e).__name__ == "Requested").messages[0].content
    assert "Turn round." in prompt
    assert "turned(n)" in prompt
    assert main(["replay", again["run"]]) == 0


def test_a_chain_can_be_taken_from_a_run_and_used_on_a_stream(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = bred(tmp_path, capsys)
    model = said(tmp_path, ORDER, ORDER)
    again = json_of(capsys, "solve", "--stream", "opt:11-11", "--chain", run["run"], "--model", model)
    assert (again["status"], again["reason"]) == ("completed", "applied")


def test_a_chain_is_for_one_method_and_breeding_needs_a_stream(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "chain.json"
    path.write_bytes(to_json(ChainFile(layers=(layer(2, say("x")),))))
    model = said(tmp_path, script(1))
    assert main(["solve", "q", "--method", "standard", "--chain", str(path), "--model", model]) == 2
    assert "leave --method out" in capsys.readouterr().err
    assert main(["solve", "q", "--method", "meta_n", "--model", model]) == 2
    assert "--stream" in capsys.readouterr().err
    assert main(["solve", "q", "--chain", str(tmp_path / "none.json"), "--model", model]) == 2
    assert "chain export" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"{", "holds no chain"),
        (b'{"format": 99}', "update meta-tui"),
        (b'{"method": "mc2"}', "not of meta_n"),
        (b'{"layers": [{"id": "L1"}]}', "holds no chain"),
        (b'{"shell": "rm"}', "holds no chain"),
    ],
)
def test_a_damaged_chain_is_refused(text: bytes, words: str) -> None:
    from meta_tui.errors import UsageError

    with pytest.raises(UsageError, match=words):
        from_json(text, "chain.json")


def test_a_hostile_chain_is_screened_like_any_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a file brings is no safer than what a model says."""
    path = tmp_path / "chain.json"
    evil = layer(2, "import os\nadditional_context = os.getcwd()", PACK)
    path.write_bytes(to_json(ChainFile(layers=(evil,))))
    run = json_of(capsys, "solve", "q", "--chain", str(path), "--model", said(tmp_path, script(7)))
    assert run["answer"] == "7"
    kept = [e for e in read(Path(run["path"])).events if getattr(e, "kind", "") == "layer"]
    body = json.loads(kept[0].body)  # type: ignore[union-attr]
    assert body["screened"][0]["reason"].startswith("line 1: imports os")
    assert [one["name"] for one in body["library"]] == ["pack_items"]


def test_show_tells_layers_archive_and_a_missing_candidate(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chain", "show", "layers-evolution"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("C3, mean 1.0000: base solver and 3 layers")
    assert "depth 4 · L3 · C3   1.0000  ✓ repaired +" in out
    assert "+ nearest_trip(places" in out
    assert "\n  pre-process:\n    " in out
    assert main(["chain", "show", "layers-evolution", "--archive"]) == 0
    (best,) = [line for line in capsys.readouterr().out.split("\n") if "◀ best" in line]
    assert best.split()[:3] == ["C3", "L3", "4"]
    assert main(["chain", "show", "layers-evolution", "--candidate", "C9"]) == 2
    assert "C0, C1, C2, C3" in capsys.readouterr().err
    assert main(["chain", "show", "mc2-digits"]) == 2
    assert "a run of mc2" in capsys.readouterr().err
    found = json_of(capsys, "chain", "show", "layers-linear")
    assert [one["id"] for one in found["layers"]] == ["L1", "L2", "L3"]


def test_rate_and_report_bring_both_raters_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    roles = '{"roles": ["prompt engineering", "task routing"]}'
    rated = json_of(capsys, "chain", "rate", "layers-linear", "--model", said(tmp_path, *[roles] * 3))
    assert (rated["status"], rated["method"]) == ("answered", "meta_n_roles")
    page = tmp_path / "page.html"
    found = json_of(
        capsys,
        "chain",
        "report",
        "layers-linear",
        "layers-evolution",
        "--ratings",
        rated["run"],
        "--to",
        str(page),
    )
    linear, _ = found["runs"]
    assert linear["roles"]["both"] == 3
    assert linear["roles"]["kappa"]["prompt engineering"] is None, "both always say yes"
    assert "Mean by depth, layers-linear" in page.read_text()
    assert main(["chain", "report", "layers-linear"]) == 0
    assert "regressed" in capsys.readouterr().out
    assert store.find("layers-linear")


def test_an_evaluation_runs_it_on_streams_and_reports_its_layers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A simulated model that writes no script: every answer is missing, and all of it is told."""
    folder = tmp_path / "evaluation"
    words = ["--method", "meta_n", "--method", "meta_n:mode=depth1,calls=4", "--task", "opt", "--stream", "4"]
    words += ["--samples", "4", "--model", "simulated:answers", "--to", str(folder)]
    assert main(["evaluate", *words]) == 0
    capsys.readouterr()
    found = json_of_report(capsys, folder)
    assert sorted(one["kind"] for one in found["layers"]) == ["depth1", "full"]
    assert all(one["seed_mean"] == 0 for one in found["layers"])
    assert found["table"][0]["n"] == 4
    started = read(folder / found["layers"][0]["log"]).started
    assert started.settings["tasks"]["opt:0"]["category"] == "round_trip"
    page = tmp_path / "page.html"
    assert main(["report", str(folder), "--format", "html", "--out", str(page)]) == 0
    assert "Mean by depth along the best chain" in page.read_text()
    assert "share of recursion" in page.read_text()


def json_of_report(capsys: pytest.CaptureFixture[str], folder: Path) -> Any:
    assert main(["report", str(folder), "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_file_with_a_chain_is_shown_like_the_run_that_it_is_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """But for means, tasks and what layers contributed nothing to: those only a run knows."""
    path = tmp_path / "chain.json"
    assert main(["chain", "export", "layers-linear", "--to", str(path)]) == 0
    capsys.readouterr()
    assert main(["chain", "show", "layers-linear"]) == 0
    run = capsys.readouterr().out
    assert main(["chain", "show", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "depth 3 · L2\nstrategy" in shown
    assert "✗ solver_lib:save  static: line 1: imports pickle" in shown
    heads = ("depth ", "C3")
    assert [line for line in shown.split("\n") if not line.startswith(heads) and line not in run] == []


def test_a_damaged_run_is_not_taken_for_a_file_with_a_chain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(store.find("layers-linear").read_bytes().replace(b'"text":"', b'"text":"X', 1))
    for words in (["chain", "show", str(path)], ["chain", "export", str(path)]):
        assert main(words) == 2
        assert "was changed" in capsys.readouterr().err


def test_a_file_cannot_hide_a_layer_behind_anothers_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Layers are shown in the places in which they would be used, whatever they are called."""
    path = tmp_path / "chain.json"
    path.write_bytes(to_json(ChainFile(layers=(layer(2, say("hidden")), layer(2, say("shown"))))))
    assert main(["chain", "show", str(path)]) == 0
    out = capsys.readouterr().out
    assert (
        out.index("depth 2 · L1") < out.index("'hidden'") < out.index("depth 3 · L2") < out.index("'shown'")
    )
