"""A mistyped name is met with the one that was probably meant."""

import pytest

from meta_tui.cli import main
from meta_tui.nearest import did_you_mean


def test_a_near_name_is_offered_and_a_far_one_is_not():
    assert did_you_mean("sovle", ["solve", "resume"]) == "; did you mean 'solve'?"
    assert did_you_mean("xyz", ["solve"]) == ""


def test_two_names_at_most():
    assert did_you_mean("run", ["runs", "run1", "run2"]).count("'") == 4


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["sovle"], "'solve'"),
        (["runs", "lst"], "'list'"),
        (["demo", "gam24-python"], "'game24-python'"),
        (["play", "gam24-python", "--plain"], "'game24-python'"),
        (["methods", "show", "meta_promting"], "'meta_prompting'"),
        (["solve", "q", "--method", "standart", "--model", "copy-paste"], "'standard'"),
        (["tasks", "show", "gme24"], "'game24'"),
    ],
)
def test_commands_methods_tasks_and_recordings(words, meant, capsys):
    assert main(words) == 2
    assert f"id you mean {meant}" in capsys.readouterr().err


@pytest.mark.parametrize("width", ["80", "100"])
@pytest.mark.parametrize("group", ["", "runs", "tasks", "cache", "config", "methods", "sandbox", "knowledge"])
def test_no_line_of_a_help_is_cut_short(group, width, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", width)
    main([*group.split(), "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert not [line for line in lines if line.endswith("...") and not line.startswith("Usage")]
