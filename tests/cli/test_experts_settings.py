"""`[experts]` of the settings files: what it makes, what it refuses, and who may run something."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_runs import FINAL, call_text

from meta_tui import config, experts, store
from meta_tui.cli import main
from meta_tui.errors import UsageError
from meta_tui.events import Requested
from meta_tui.experts import Entry, Expert, from_table, from_tables
from meta_tui.methods.special import Special
from meta_tui.models.command import CommandExpert
from meta_tui.models.local import FunctionExpert
from meta_tui.runlog import read

SHELL = """
[experts."Expert Search"]
command = ["sh", "-c", "cat; echo ' and more'"]
seconds = 5
about = "finds things."
"""


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("META_TUI_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    store.home().config.parent.mkdir(parents=True, exist_ok=True)


def script(*replies: str) -> str:
    Path("script.jsonl").write_text("".join(json.dumps({"text": reply}) + "\n" for reply in replies))
    return "script:script.jsonl"


def solve(*more: str) -> int:
    model = script(call_text("Expert Search", "capital of Peru"), FINAL)
    return main(["solve", "q", "--model", model, "--plain", *more])


def last() -> list[Any]:
    return read(store.find("last")).events


# The user's own file.


def test_an_expert_of_the_settings_is_consulted_and_its_run_replays_without_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    store.home().config.write_text(SHELL)
    assert solve() == 0
    assert "Expert Search\n  capital of Peru and more" in capsys.readouterr().out
    [request] = [e for e in last() if isinstance(e, Requested) and e.span]
    assert request.params.model == "command:Expert Search"
    store.home().config.unlink()
    assert main(["replay", "last"]) == 0


def test_methods_that_consult_no_experts_leave_them_alone() -> None:
    model = script(FINAL)
    for place in (store.home().config, Path("meta-tui.toml")):
        place.write_text('[experts."Expert Search"]\nfunction = "nowhere:at_all"\n')
        assert main(["solve", "q", "--model", model, "--method", "standard", "--plain"]) == 0


def test_a_function_of_the_settings_is_imported_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own_experts_of_a_test.py").write_text("def search(text):\n    return text[::-1]\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    store.home().config.write_text('[experts."Expert Search"]\nfunction = "own_experts_of_a_test:search"\n')
    assert solve() == 0
    assert "ureP fo latipac" in capsys.readouterr().out
    sys.modules.pop("own_experts_of_a_test")


def test_a_program_of_the_settings_is_kept_in_the_log_and_run_in_the_sandbox(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "search.py").write_text("print(len(input()))\n")
    store.home().config.write_text(
        f'[experts."Expert Search"]\nprogram = "{tmp_path}/search.py"\nseconds = 3\n'
    )
    assert solve() == 0
    assert "  15" in capsys.readouterr().out
    [special] = read(store.find("last")).started.settings["experts"]
    assert special["program"] == {"code": "print(len(input()))\n", "limits": {"seconds": 3.0}}


def test_settings_of_the_method_win_over_those_of_the_file() -> None:
    store.home().config.write_text(SHELL)
    assert main(["solve", "q", "--model", script(FINAL), "--plain", "--set", "experts=[]"]) == 0
    assert "experts" not in read(store.find("last")).started.settings


# A project's file, which may be somebody else's.


def test_a_projects_file_runs_nothing_unless_the_user_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("meta-tui.toml").write_text(SHELL)
    assert solve() == 2
    message = capsys.readouterr().err
    assert "would run a command of this folder's settings file" in message
    assert "META_TUI_PROJECT_EXPERTS=1" in message
    monkeypatch.setenv("META_TUI_PROJECT_EXPERTS", "1")
    assert solve() == 0
    monkeypatch.delenv("META_TUI_PROJECT_EXPERTS")
    store.home().config.write_text("project_experts = true\n")
    assert solve() == 0


def test_a_projects_file_cannot_say_so_itself() -> None:
    Path("meta-tui.toml").write_text(f"project_experts = true\n{SHELL}")
    assert solve() == 2
    Path("meta-tui.toml").write_text(SHELL + "project = false\n")
    assert solve() == 2


def test_a_projects_file_reads_no_program_from_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "secret").write_text("password hunter2")
    Path("link.py").symlink_to(tmp_path / "secret")
    for path in (str(tmp_path / "secret"), "../secret", "link.py"):
        Path("meta-tui.toml").write_text(f'[experts."Expert Search"]\nprogram = "{path}"\n')
        assert solve() == 2
        said = capsys.readouterr()
        assert "would read" in said.err
        assert "hunter2" not in said.out + said.err
    Path("own.py").write_text("print(input() + '!')")
    Path("meta-tui.toml").write_text('[experts."Expert Search"]\nprogram = "own.py"\n')
    assert solve() == 0


ELSEWHERE = 'base_url = "http://models.invalid/v1"\n'


def test_a_projects_file_has_no_key_sent_to_a_server_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("meta-tui.toml").write_text(f'[experts."Expert Search"]\nmodel = "x"\n{ELSEWHERE}')
    assert solve() == 2
    assert "your key sent to http://models.invalid/v1" in capsys.readouterr().err
    Path("meta-tui.toml").write_text(f'model = "x"\n{ELSEWHERE}project_address = false\n')
    assert main(["solve", "q", "--plain"]) == 2
    assert "your key sent to http://models.invalid/v1" in capsys.readouterr().err
    assert main(["config", "show"]) == 0
    assert config.resolve({"base_url": "http://models.invalid/v1"}).settings.project_address is False
    monkeypatch.setenv("META_TUI_PROJECT_EXPERTS", "1")
    assert config.resolve().settings.project_address is False
    monkeypatch.delenv("META_TUI_PROJECT_EXPERTS")
    store.home().config.write_text(ELSEWHERE)
    Path("meta-tui.toml").unlink()
    assert config.resolve().settings.project_address is False


@pytest.mark.parametrize(
    ("address", "here"),
    [
        ("", True),
        ("http://localhost:11434/v1", True),
        ("http://127.0.0.1/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://127.0.0.1.evil.invalid/v1", False),
        ("http://127.0.0.1@evil.invalid/v1", False),
        ("http://10.0.0.1/v1", False),
        ("http://[", False),
        ("localhost", False),
    ],
)
def test_only_addresses_of_this_machine_are_here(address: str, here: bool) -> None:
    assert config.is_here(address) is here


def test_a_projects_file_may_name_models_and_temperatures() -> None:
    Path("meta-tui.toml").write_text('[experts."Expert Search"]\ntemperatures = [0.5]\n')
    model = script(call_text("Expert Search", "capital of Peru"), "Lima", FINAL)
    assert main(["solve", "q", "--model", model, "--plain"]) == 0
    assert [e.params.temperature for e in last() if isinstance(e, Requested)] == [0.0, 0.5, 0.0]


def test_other_commands_work_in_a_folder_whose_experts_are_refused() -> None:
    Path("meta-tui.toml").write_text(SHELL)
    assert main(["config", "show"]) == 0
    assert main(["demo", "--brief"]) == 0


def test_what_is_wrong_in_a_table_is_said_with_the_name(capsys: pytest.CaptureFixture[str]) -> None:
    store.home().config.write_text('[experts."Expert Search"]\ncomand = ["x"]\n')
    assert solve() == 2
    message = capsys.readouterr().err
    assert "'Expert Search'" in message
    assert "comand" in message
    store.home().config.write_text("experts = 3\n")
    assert solve() == 2


# Any table.

NAMES = st.one_of(
    st.from_regex(r"\AExpert [\w* .-]{1,20}\Z"),
    st.text(max_size=12),
    st.sampled_from(["Expert *", "expert x", "Expert", "Expert  ", "*"]),
)
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.lists(st.text(max_size=4))
)
TABLES = st.dictionaries(
    st.one_of(st.sampled_from(Entry.__struct_fields__), st.text(max_size=8)), VALUES, max_size=5
)


@given(NAMES, TABLES)
def test_any_table_is_an_expert_or_an_error_that_names_it(name: str, table: dict[str, Any]) -> None:
    made, message = outcome(name, table)
    if made is None:
        assert repr(name) in message
        return
    assert made.special.name == name
    assert isinstance(made.door, FunctionExpert | CommandExpert | None)
    assert not (table.get("project") and (table.get("command") or table.get("function")))


def outcome(name: str, table: dict[str, Any]) -> tuple[Expert | None, str]:
    """The expert, or the message that it is refused with."""
    try:
        return from_table(name, table), ""
    except UsageError as error:
        return None, str(error)


WORDS = st.from_regex(r"\A[A-Za-z][a-z.+()\[\]?]{0,6}\Z")


@given(st.lists(WORDS, min_size=1, max_size=4), st.data())
def test_a_name_matches_itself_in_any_case_and_with_any_words_starred(words: list[str], data: Any) -> None:
    name = " ".join(["Expert", *words])
    starred = " ".join(["Expert", *(data.draw(st.sampled_from([word, "*"])) for word in words)])
    assert Special(name=name).matches(name.upper())
    assert Special(name=starred).matches(name)
    assert not Special(name=name).matches(name + "x")


@given(st.lists(st.sampled_from("abé* "), max_size=12), st.text("abé ", max_size=12))
def test_a_pattern_means_what_fnmatch_means_by_its_stars(pieces: list[str], name: str) -> None:
    from fnmatch import fnmatchcase

    def folded(text: str) -> str:
        return " ".join(text.split()).casefold()

    pattern = "Expert e" + "".join(pieces)
    expected = fnmatchcase(folded(f"Expert e{name}"), folded(pattern))
    assert Special(name=pattern).matches(f"Expert e{name}") is expected


def test_experts_keep_the_order_of_the_file() -> None:
    found = from_tables({"Expert B*": {"model": "x"}, "Expert *": {"model": "y"}})
    assert [e.special.name for e in found] == ["Expert B*", "Expert *"]
    assert experts.settings_of(found) == [
        {"name": "Expert B*", "model": "x"},
        {"name": "Expert *", "model": "y"},
    ]


def test_a_server_of_its_own_has_a_door_of_its_own(tmp_path: Path) -> None:
    from meta_tui import session

    table = {"Expert Critic": {"model": "llama", "base_url": "http://127.0.0.1:9/v1"}}
    live = session.Session(config.Settings(model="copy-paste", experts=table), ask=lambda prompt: "")
    door: Any = live.doors().model
    assert set(door.members) == {"llama"}
