"""The command line as people and scripts use it: what it prints, where, and its exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from meta_tui import sources
from meta_tui.cli import COMMANDS, main
from meta_tui.runlog import read

SCRIPT = [
    'Expert Mathematician:\n"""\nWhat is 6 times 7?\n"""',
    "It is 42.",
    '>> FINAL ANSWER:\n"""\n42\n"""',
]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty user's folder, an empty working folder, and no settings from outside."""
    for name in [n for n in os.environ if n.startswith("META_TUI_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("META_TUI_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "home"


@pytest.fixture
def script(tmp_path: Path) -> str:
    """A model name that answers from a script."""
    return write_script(tmp_path / "script.jsonl", SCRIPT)


def write_script(path: Path, texts: list[str]) -> str:
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return f"script:{path}"


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> object:
    capsys.readouterr()
    assert main([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_help_lists_every_command_and_every_command_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"\n  {name} " in text for name in COMMANDS)
    for name in COMMANDS:
        assert main([name, "--help"]) == 0
        assert "Usage:" in capsys.readouterr().out


def test_solve_prints_an_answer_and_records_a_run_that_replays(
    home: Path, script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["solve", "6*7?", "--model", script, "--plain"]) == 0
    out = capsys.readouterr()
    assert "Answer\n  42\n" in out.out
    assert "answered" in out.out
    assert "run 2" in out.err
    assert "run 2" not in out.out
    report = run_json(capsys, "replay", "last")
    assert report == {
        "runs": 1,
        "exact": 1,
        "groups": {"meta_prompting/-": {"runs": 1, "exact": 1, "first_difference": None}},
    }


def test_solve_json_is_one_object(home: Path, script: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = run_json(capsys, "solve", "6*7?", "--model", script)
    assert isinstance(found, dict)
    assert (found["status"], found["answer"], found["calls"]) == ("answered", "42", 3)
    assert Path(found["path"]).is_file()


@pytest.mark.parametrize(
    ("arguments", "needle"),
    [
        (["solve", "--model", "x/y", "  "], "no question"),
        (["solve", "q"], "no model is set"),
        (["solve", "q", "--model", "script:missing.jsonl"], "missing.jsonl"),
        (["solve", "q", "--model", "x/y", "--method", "nope"], "no method 'nope'"),
        (["solve", "q", "--model", "x/y", "--preset", "nope"], "no preset 'nope'"),
        (["solve", "q", "--model", "x/y", "--set", "rounds"], "NAME=VALUE"),
        (["solve", "q", "--model", "x/y", "--set", "colour=red"], "colour"),
        (["solve", "q", "--model", "x/y", "--instruction", "nope"], "no instruction 'nope'"),
        (["play", "nope"], "no run or file 'nope'"),
        (["replay", "."], "no run logs"),
        (["demo", "nope"], "no demo 'nope'"),
        (["methods", "show", "nope"], "no method 'nope'"),
        (["runs", "show", "nope"], "no run or file"),
        (["nope"], "nope"),
        (["import", "published", "."], "no published runs"),
    ],
)
def test_bad_input_gets_one_clear_error_and_exit_code_2(
    home: Path, arguments: list[str], needle: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert needle in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""
    assert not list(home.rglob("*.jsonl"))


def test_a_run_without_an_answer_exits_1_and_one_stopped_by_its_budget_4(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    never = write_script(tmp_path / "never.jsonl", ["hm"] * 3)
    found = run_json(capsys, "solve", "q", "--model", never, "--rounds", "3", code=1)
    assert isinstance(found, dict)
    assert (found["status"], found["reason"], found["answer"]) == ("no_answer", "round_limit", None)
    script = write_script(tmp_path / "script.jsonl", SCRIPT)
    stopped = run_json(capsys, "solve", "q", "--model", script, "--max-calls", "2", code=4)
    assert isinstance(stopped, dict)
    assert (stopped["status"], stopped["calls"]) == ("budget", 3)


def test_a_budget_stop_can_be_resumed_and_counts_what_was_recorded(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = write_script(tmp_path / "script.jsonl", SCRIPT)
    stopped = run_json(capsys, "solve", "q", "--model", script, "--max-calls", "2", code=4)
    assert isinstance(stopped, dict)
    last = write_script(tmp_path / "last.jsonl", SCRIPT[2:])
    again = run_json(capsys, "resume", stopped["run"], "--model", last, "--max-calls", "2", code=4)
    assert isinstance(again, dict)
    assert again["status"] == "budget"
    done = run_json(capsys, "resume", stopped["run"], "--model", last, "--max-calls", "3")
    assert isinstance(done, dict)
    assert (done["status"], done["answer"]) == ("answered", "42")
    assert main(["resume", stopped["run"], "--model", last]) == 2
    assert "ended by itself" in capsys.readouterr().err


def test_a_budget_stop_keeps_an_answer_that_came_beside_an_expert_call(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = f'{SCRIPT[0]}\n\n>> FINAL ANSWER:\n"""\n41\n"""'
    script = write_script(tmp_path / "script.jsonl", [both, *SCRIPT[1:]])
    stopped = run_json(capsys, "solve", "q", "--model", script, "--max-calls", "2", code=4)
    assert isinstance(stopped, dict)
    assert stopped["answer"] == "41"
    assert run_json(capsys, "replay", stopped["run"])


def test_a_failed_provider_exits_5_and_resume_goes_on(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text(json.dumps({"text": SCRIPT[0]}) + "\n" + json.dumps({"fail": "server"}) + "\n")
    failed = run_json(capsys, "solve", "q", "--model", f"script:{broken}", code=5)
    assert isinstance(failed, dict)
    assert (failed["status"], failed["reason"]) == ("failed", "server")
    rest = write_script(tmp_path / "rest.jsonl", SCRIPT[1:])
    done = run_json(capsys, "resume", failed["run"], "--model", rest)
    assert isinstance(done, dict)
    assert done["answer"] == "42"
    assert main(["replay", failed["run"]]) == 0


def test_fork_goes_on_differently_and_leaves_the_run_as_it_is(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = write_script(tmp_path / "script.jsonl", SCRIPT)
    parent = run_json(capsys, "solve", "q", "--model", script)
    assert isinstance(parent, dict)
    before = Path(parent["path"]).read_bytes()
    line = next(n for n, text in enumerate(before.split(b"\n"), 1) if b"It is 42" in text)
    other = tmp_path / "edit.txt"
    other.write_text("It is 43.\n")
    rest = write_script(tmp_path / "rest.jsonl", ['>> FINAL ANSWER:\n"""\n43\n"""'])
    edited = run_json(capsys, "fork", parent["run"], "--at", str(line), "--edit", str(other), "--model", rest)
    assert isinstance(edited, dict)
    assert edited["answer"] == "43"
    started = read(Path(edited["path"])).started
    assert (started.parent and started.parent.run, started.repeat) == (parent["run"], f"fork:{edited['run']}")
    assert started.note == f"fork of {parent['run']} at line {line}, whose reply was edited"
    rows = run_json(capsys, "runs", "list")
    assert isinstance(rows, list)
    assert rows[0]["id"] == edited["run"]
    assert rows[0]["seconds"] < 60
    redrawn_script = write_script(tmp_path / "again.jsonl", ["It is 44.", '>> FINAL ANSWER:\n"""\n44\n"""'])
    redrawn = run_json(
        capsys, "fork", parent["run"], "--at", str(line), "--redraw", "--model", redrawn_script
    )
    assert isinstance(redrawn, dict)
    assert redrawn["answer"] == "44"
    assert Path(parent["path"]).read_bytes() == before
    assert main(["replay", parent["run"], edited["run"], redrawn["run"]]) == 0
    assert main(["fork", parent["run"], "--at", "2", "--edit", str(other), "--model", rest]) == 2
    assert main(["fork", parent["run"], "--at", "999", "--model", rest]) == 2


def test_a_follow_up_sends_the_whole_history_and_names_its_parent(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parent = run_json(capsys, "solve", "6*7?", "--model", write_script(tmp_path / "a.jsonl", SCRIPT))
    assert isinstance(parent, dict)
    more = write_script(tmp_path / "b.jsonl", ['>> FINAL ANSWER:\n"""\n84\n"""'])
    child = run_json(capsys, "solve", "And twice that?", "--continue", parent["run"], "--model", more)
    assert isinstance(child, dict)
    recording = read(Path(child["path"]))
    assert recording.started.parent is not None
    assert recording.started.parent.run == parent["run"]
    assert len(recording.history) == 5
    request = next(e for e in recording.events if type(e).__name__ == "Requested")
    assert [m.role for m in request.messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert "And twice that?" in request.messages[-1].content
    assert main(["replay", child["run"]]) == 0


def test_settings_come_from_flag_then_environment_then_project_then_user_file(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home.mkdir(parents=True)
    (home / "config.toml").write_text('model = "user/model"\nmax_calls = 7\nretries = 1\ntemperature = 0.5\n')
    Path("meta-tui.toml").write_text("max_calls = 8\nretries = 2\n")
    monkeypatch.setenv("META_TUI_RETRIES", "3")
    shown = run_json(capsys, "config", "show")
    assert isinstance(shown, dict)
    assert shown["model"] == {"value": "user/model", "origin": "user"}
    assert shown["max_calls"] == {"value": 8, "origin": "project"}
    assert shown["retries"] == {"value": 3, "origin": "environment"}
    assert shown["method"]["origin"] == "default"
    Path("meta-tui.toml").write_text("colour = 1\n")
    assert main(["config", "show"]) == 2
    assert "meta-tui.toml: no setting 'colour'" in capsys.readouterr().err


def test_every_setting_of_solve_changes_the_request_or_the_run(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    final = SCRIPT[2:]

    def started(*flags: str, texts: list[str] = final):
        script = write_script(tmp_path / "s.jsonl", texts)
        found = run_json(capsys, "solve", "q", "--model", script, *flags)
        assert isinstance(found, dict)
        assert main(["replay", found["run"]]) == 0
        return read(Path(found["path"]))

    plain = started()
    assert plain.started.params.temperature == 0
    sampled = started("--temperature", "0.7", "--top-p", "0.9", "--max-tokens", "99")
    request = next(e for e in sampled.events if type(e).__name__ == "Requested")
    assert (request.params.temperature, request.params.top_p, request.params.max_tokens) == (0.7, 0.9, 99)
    published = started("--preset", "published").started
    assert (published.params.temperature, published.params.top_p, published.params.max_tokens) == (
        0.1,
        0.95,
        1024,
    )
    assert (published.settings["parser"], published.settings["placement"]) == ("compat", "user_prefix")
    no_python = started("--no-python")
    assert "Expert Python" not in no_python.events[2].messages[0].content
    assert "Expert Python" in plain.events[2].messages[0].content
    assert started("--rounds", "3").started.settings["rounds"] == 3
    assert started("--set", "tries=4").started.settings["tries"] == 4
    assert started("--method", "standard").started.method == "standard"
    assert (started("--repeat", "5").started.repeat, started("--seed", "9").started.seed) == ("5", 9)


def test_an_imported_instruction_can_be_chosen_by_name(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = home / "instructions"
    folder.mkdir(parents=True)
    text = {
        "name": "mine",
        "origin": "me",
        "settings": {"instruction": "You are in charge.", "suffix": "Go."},
    }
    (folder / "mine.json").write_text(json.dumps(text))
    script = write_script(tmp_path / "s.jsonl", SCRIPT[2:])
    found = run_json(capsys, "solve", "q", "--model", script, "--instruction", "mine")
    assert isinstance(found, dict)
    recording = read(Path(found["path"]))
    assert recording.events[2].messages[0].content == "You are in charge."  # type: ignore[union-attr]
    assert recording.events[2].messages[1].content.endswith("Go.")  # type: ignore[union-attr]
    assert recording.started.settings["instruction_name"] == "mine"


def test_runs_lists_filters_shows_and_removes(
    home: Path, script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs"]) == 0
    assert "meta-tui demo" in capsys.readouterr().err
    first = run_json(capsys, "solve", "6*7?", "--model", script)
    second = run_json(
        capsys,
        "solve",
        "other",
        "--model",
        write_script(tmp_path / "n.jsonl", ["hm"]),
        "--rounds",
        "1",
        code=1,
    )
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    rows = run_json(capsys, "runs", "list")
    assert isinstance(rows, list)
    assert {row["id"] for row in rows} == {first["run"], second["run"]}
    only = run_json(capsys, "runs", "list", "no_answer")
    assert isinstance(only, list)
    assert [row["id"] for row in only] == [second["run"]]
    shown = run_json(capsys, "runs", "show", first["run"][:-1] + first["run"][-1])
    assert isinstance(shown, dict)
    assert (shown["answer"], shown["rounds"], shown["calls"]) == ("42", 2, 3)
    assert main(["runs", "path", "last"]) == 0
    assert Path(capsys.readouterr().out.strip()).is_file()
    assert main(["runs", "remove", second["run"], "--yes"]) == 0
    assert not Path(second["path"]).exists()
    assert main(["runs", "--rebuild-index"]) == 0
    assert "1 run read" in capsys.readouterr().err
    outside = tmp_path / "kept.jsonl"
    outside.write_bytes(Path(first["path"]).read_bytes())
    assert main(["runs", "remove", str(outside), "--yes"]) == 2
    assert outside.exists()


def test_a_damaged_run_is_listed_as_damaged_and_replay_names_the_error(
    home: Path, script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    good = run_json(capsys, "solve", "6*7?", "--model", script)
    assert isinstance(good, dict)
    bad = home / "runs" / "bad.jsonl"
    bad.write_bytes(Path(good["path"]).read_bytes().replace(b"It is 42", b"It is 43"))
    rows = run_json(capsys, "runs", "list", "damaged")
    assert isinstance(rows, list)
    assert [row["id"] for row in rows] == ["bad"]
    report = run_json(capsys, "replay", str(home / "runs"), code=2)
    assert isinstance(report, dict)
    assert (report["runs"], report["exact"]) == (2, 1)
    assert "OutcomeMismatch: line 11" in report["groups"]["meta_prompting/-"]["first_difference"]


def test_an_unfinished_run_replays_to_its_end_and_says_resume(
    home: Path, script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    good = run_json(capsys, "solve", "6*7?", "--model", script)
    assert isinstance(good, dict)
    cut = home / "runs" / "cut.jsonl"
    cut.write_bytes(b"\n".join(Path(good["path"]).read_bytes().split(b"\n")[:10]) + b"\n")
    report = run_json(capsys, "replay", "cut", code=3)
    assert isinstance(report, dict)
    assert "unfinished: resume it" in report["groups"]["meta_prompting/-"]["first_difference"]
    assert main(["play", "cut", "--plain"]) == 3


def test_diff_says_where_two_runs_differ(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = []
    for number in ("42", "43"):
        texts = [SCRIPT[0], f"It is {number}.", f'>> FINAL ANSWER:\n"""\n{number}\n"""']
        found = run_json(capsys, "solve", "6*7?", "--model", write_script(tmp_path / "s.jsonl", texts))
        assert isinstance(found, dict)
        runs.append(found["run"])
    same = run_json(capsys, "diff", runs[0], runs[0])
    assert isinstance(same, dict)
    assert same["same"] is True
    other = run_json(capsys, "diff", runs[0], runs[1], code=3)
    assert isinstance(other, dict)
    found = [(row["mark"], row["round"], row["who"], row["what"]) for row in other["rows"]]
    assert found == [
        ("~", 1, "Expert Mathematician", "reply"),
        ("~", 2, "Meta Model", "reply"),
        ("~", 2, "run", "answer"),
    ]
    assert main(["diff", runs[0], runs[1]]) == 3
    assert "-It is 42.\n" in capsys.readouterr().out.replace("    ", "")


def test_play_json_writes_every_event_of_the_log_in_order(
    home: Path, script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    good = run_json(capsys, "solve", "6*7?", "--model", script)
    assert isinstance(good, dict)
    assert main(["play", good["run"], "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.split("\n") if line]
    recorded = read(Path(good["path"])).events
    assert [line["e"] for line in lines] == [type(e).__name__ for e in recorded]
    asked = next(line for line in lines if line["e"] == "Requested")
    assert [message["role"] for message in asked["messages"]] == ["system", "user"]


def test_methods_show_gives_every_setting_with_its_meaning(capsys: pytest.CaptureFixture[str]) -> None:
    from meta_tui.methods import METHODS

    listed = run_json(capsys, "methods", "list")
    assert isinstance(listed, list)
    assert [row["id"] for row in listed] == list(METHODS)
    for method, (module, _) in METHODS.items():
        if not module.startswith("meta_tui."):
            continue  # registered by another test in this process
        shown = run_json(capsys, "methods", "show", method)
        assert isinstance(shown, dict)
        missing = set(shown["settings"]) - set(shown["meaning"])
        assert not missing - {"label", "suffix", "preamble"}, missing


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_each_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert "_META_TUI_COMPLETE" in capsys.readouterr().out


def test_doctor_never_shows_a_key_and_names_those_that_are_set(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = "sk-very-secret-value-0123456789"
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    main(["doctor", "--json"])
    captured = capsys.readouterr()
    assert secret not in captured.out + captured.err
    assert "OPENAI_API_KEY" in captured.out


def test_a_dotenv_file_gives_keys_only(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from meta_tui.config import load_env_file

    monkeypatch.delenv("SOME_API_KEY", raising=False)
    Path(".env").write_text('SOME_API_KEY="abc"\nPATH=/nowhere\nMETA_TUI_MODEL=x/y\n')
    before = os.environ["PATH"]
    assert load_env_file() == ["SOME_API_KEY"]
    assert os.environ["PATH"] == before
    assert "META_TUI_MODEL" not in os.environ
    monkeypatch.delenv("SOME_API_KEY")


def python(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("META_TUI", "COV"))}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**clean, **env}, check=False
    )


GUARD = """
import socket, sys
def refuse(*a, **k): raise RuntimeError("no network here")
socket.socket.connect = refuse
socket.getaddrinfo = refuse
"""


@pytest.mark.parametrize(
    ("arguments", "banned"),
    [
        (["--help"], "litellm textual rich diskcache RestrictedPython"),
        (["runs"], "litellm textual rich diskcache RestrictedPython"),
        (["methods"], "litellm textual rich diskcache RestrictedPython"),
        (["REPLAY"], "litellm textual rich diskcache RestrictedPython"),
        (["PLAY"], "litellm textual rich diskcache RestrictedPython"),
    ],
)
def test_light_commands_import_no_heavy_library_and_need_no_network(
    arguments: list[str], banned: str, home: Path, script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    good = run_json(capsys, "solve", "6*7?", "--model", script)
    assert isinstance(good, dict)
    known = {"REPLAY": ["replay", good["path"]], "PLAY": ["play", good["path"], "--plain"]}
    real = [part for word in arguments for part in known.get(word, [word])]
    code = f"""{GUARD}
from meta_tui.cli import main
assert main({real!r}) == 0
loaded = [name for name in {banned.split()!r} if name in sys.modules]
assert not loaded, loaded
"""
    done = python(code, META_TUI_HOME=str(home))
    assert done.returncode == 0, done.stderr


def test_help_costs_at_most_0_4_seconds_of_cpu() -> None:
    code = "import time; from meta_tui.cli import main; main(['--help']); print(time.process_time())"
    best = min(float(python(code).stdout.strip().rpartition("\n")[2]) for _ in range(3))
    assert best <= 0.4


def test_a_closed_pipe_is_no_error(home: Path, script: str, capsys: pytest.CaptureFixture[str]) -> None:
    good = run_json(capsys, "solve", "6*7?", "--model", script)
    assert isinstance(good, dict)
    # The reader is gone before the first byte, so every write meets a closed pipe.
    command = f"{sys.executable} -m meta_tui play {good['path']} --plain | true"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.returncode == 0


def test_with_cassette_is_reported_unused(home: Path, tmp_path: Path) -> None:
    """A stale recording shows as an unused one in mode new_episodes."""
    import asyncio

    from meta_tui.methods import build
    from meta_tui.models.scripted import ScriptedModel
    from meta_tui.run import Doors

    method, path = build("standard"), tmp_path / "kept.jsonl"

    async def record(question: str, texts: list[str]) -> int:
        started = sources.header(method, question, model="scripted")
        doors = Doors(ScriptedModel(texts))
        _, journal = await sources.with_cassette(path, "new_episodes", method, started, doors)
        return len(journal.unused())

    answer = '>> FINAL ANSWER:\n"""\n1\n"""'
    assert asyncio.run(record("first", [answer])) == 0
    assert asyncio.run(record("first", [])) == 0
    assert asyncio.run(record("second", [answer])) == 1


def test_a_fork_whose_model_cannot_be_asked_leaves_nothing_behind(
    home: Path, script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parent = run_json(capsys, "solve", "q", "--model", script)
    assert isinstance(parent, dict)
    before = sorted(home.rglob("*"))
    assert main(["fork", parent["run"], "--at", "6", "--model", "script:missing.jsonl"]) == 2
    assert "missing.jsonl" in capsys.readouterr().err
    assert main(["fork", parent["run"], "--at", "6"]) == 2
    assert "give --model" in capsys.readouterr().err
    assert main(["evaluate", "--task", "words", "--model", "script:missing.jsonl", "--to", "ev"]) == 2
    assert not Path("ev").exists()
    assert sorted(home.rglob("*")) == before


def test_a_place_that_cannot_be_written_is_one_sentence_and_exit_code_5(
    home: Path, script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(
            [
                "evaluate",
                "--task",
                "words",
                "--samples",
                "1",
                "--method",
                "standard",
                "--model",
                script,
                "--to",
                "ev",
            ]
        )
        == 0
    )
    capsys.readouterr()
    assert main(["report", "ev", "--format", "html", "--out", "nowhere/x.html"]) == 5
    error = capsys.readouterr().err
    assert "nowhere/x.html: No such file or directory" in error
    assert "Traceback" not in error


def test_replay_of_an_evaluation_looks_at_its_runs_only(
    home: Path, script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(
            [
                "evaluate",
                "--task",
                "words",
                "--samples",
                "1",
                "--method",
                "standard",
                "--model",
                script,
                "--to",
                "ev",
            ]
        )
        == 0
    )
    report = run_json(capsys, "replay", "ev")
    assert isinstance(report, dict)
    assert (report["runs"], report["exact"]) == (1, 1)


def test_damage_names_its_file(home: Path, script: str, capsys: pytest.CaptureFixture[str]) -> None:
    good = run_json(capsys, "solve", "q", "--model", script)
    assert isinstance(good, dict)
    bad = home / "runs" / "bad.jsonl"
    bad.write_bytes(Path(good["path"]).read_bytes().replace(b"It is 42", b"It is 43"))
    assert main(["diff", good["run"], "bad"]) == 2
    assert "bad.jsonl: line" in capsys.readouterr().err
