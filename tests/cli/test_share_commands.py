"""`export` from the command line: files that can be given away."""

import json

from meta_tui.cli import main


def test_export_writes_a_page_where_it_is_told(tmp_path, capsys):
    target = tmp_path / "run.html"
    assert main(["export", "game24-python", "--to", str(target)]) == 0
    assert capsys.readouterr().out.strip() == str(target)
    assert "<!doctype html>" in target.read_text()


def test_export_names_a_file_of_its_own(capsys):
    assert main(["export", "game24-python", "--format", "md", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert main(["export", "game24-python", "--format", "md", "--json"]) == 0
    second = json.loads(capsys.readouterr().out)
    assert first["path"] != second["path"]
    assert first["path"].endswith("game24-python.md")


def test_export_of_an_unknown_run_says_what_to_do(capsys):
    assert main(["export", "no-such-run"]) == 2
    assert "meta-tui runs" in capsys.readouterr().err
