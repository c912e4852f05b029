"""The report of an evaluation in headless Chromium: no error in its console, no request, all its parts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from evaluation import small
from test_export_in_browser import CHROMIUM, browsed

from meta_tui.cli import main

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium")


def reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["report", str(folder), "--format", "html"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("kind", ["samples", "streams", "workers", "failures"])
def test_a_report_opens_from_a_file_and_asks_nobody_for_anything(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "e"
    if kind == "samples":
        small.run(folder)
    elif kind == "streams":
        small.run(folder, ("mc2:batch=6", "cot"), ("theorem",), 24, "simulated:learner", 24)
    elif kind == "workers":
        methods = [f"meta_reasoning:tools=text,budget={budget}" for budget in (25, 50)]
        small.run(folder, methods, ("theorem",), 3, "simulated:workers")
    else:
        small.failing(folder, "<script>document.title = 'taken'</script>\x1b[2J")
    page = reported(folder, capsys)
    document, console, urls = browsed(page, tmp_path)
    assert console == []
    assert urls == set()
    assert "taken" not in document.partition("</title>")[0]
    heads = {
        "samples": "Accuracy against calls",
        "streams": "Accuracy and restart share by batch",
        "workers": "Score against allowance",
        "failures": "Failures",
    }
    assert heads[kind] in document
    assert document.count("<svg") == page.count("<svg")


def test_no_label_of_a_bar_stands_outside_of_its_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Labels end where the bars begin; a character of 12 px text is at most 7.2 px wide on average."""
    folder = tmp_path / "e"
    small.run(folder, ("meta_reasoning:tools=text,budget=25,no_propose=true", "standard"), count=2)
    page = reported(folder, capsys)
    svg = page.partition("<h2>Accuracy</h2>")[2].partition("</svg>")[0]
    labels = re.findall(r'<text x="([\d.]+)" y="[\d.]+" text-anchor="end">([^<]*)<', svg)
    assert len(labels) == 4
    assert all(float(x) >= 7.2 * len(text) for x, text in labels)
    assert any(text.endswith("no_propose=true") for _, text in labels)
