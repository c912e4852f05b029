"""The whole published set through the commands: 13,855 runs imported, replayed, and given back as
they stand in the zip. What the zip holds is read with zipfile and json, never with our import."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from checkout import project
from published import META, File, archive, expected, files, rows
from scripted_runs import again, objects

from meta_tui.errors import LogError, ReplayError
from meta_tui.runlog import parse

pytestmark = pytest.mark.timeout(1200)
ALL = 13_855


def meta_tui(*arguments: str | Path, home: Path) -> subprocess.CompletedProcess[str]:
    """A command, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "meta_tui", *map(str, arguments)],
        cwd=project(),
        env={"PATH": os.environ["PATH"], "META_TUI_HOME": str(home), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every published run, imported by the command."""
    place = tmp_path_factory.mktemp("all")
    done = meta_tui("import", "published", archive(), "--to", place / "logs", "--json", home=place / "home")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["runs"] == ALL
    return place / "logs"


@pytest.fixture(scope="module")
def report(folder: Path) -> dict[str, Any]:
    """What replay says of all of them; the message logs stand in `messages` beside."""
    done = meta_tui(
        "replay", folder, "--json", "--messages", folder.parent / "messages", home=folder.parent / "home"
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_there_is_a_log_for_every_row(folder: Path) -> None:
    assert sum(len(rows(file)) for file in files()) == ALL
    for file in files():
        logs = {path.name for path in (folder / file.method / file.task).iterdir()}
        assert logs == {f"{number}.jsonl" for number in range(len(rows(file)))}, file


def test_all_are_exact_by_group(report: dict[str, Any]) -> None:
    assert (report["runs"], report["exact"]) == (ALL, ALL)
    wanted = {f"{file.method}/{file.task}": len(rows(file)) for file in files()}
    assert {name: group["runs"] for name, group in report["groups"].items()} == wanted
    for name, group in report["groups"].items():
        assert group == {"runs": wanted[name], "exact": wanted[name], "first_difference": None}
    assert sum(n for name, n in wanted.items() if name.split("/")[0] in META) == 3850


def test_every_message_log_is_the_one_in_the_zip(report: dict[str, Any], folder: Path) -> None:
    """Byte for byte after JSON decoding, in row order."""
    assert report["exact"] == ALL
    for file in files():
        lines = (folder.parent / "messages" / file.method / f"{file.task}.jsonl").read_text(encoding="utf-8")
        given = [json.loads(line) for line in lines.split("\n") if line]
        assert given == [row["message_log"] for row in rows(file)], file


@cache
def counted(file: File, folder: Path) -> Counter[str]:
    """What expected_even.json counts, from our logs."""
    counts: Counter[str] = Counter()
    for number, _ in enumerate(rows(file)):
        found = objects(folder / file.method / file.task / f"{number}.jsonl")
        main = ("",) if file.method != "ExpertDynamic" else ("", None)
        counts["rows"] += 1
        counts["answered"] += found[-1]["status"] == "answered"
        counts["replies"] += sum(line["e"] == "Replied" and line.get("span", "") in main for line in found)
    return counts


def test_rows_rounds_and_answers_are_those_that_the_publishers_count(folder: Path) -> None:
    wanted = expected()
    for file in files():
        its = wanted.get(f"{file.method}/{file.task}")
        if its is None:  # the copy holds Standard's P3, which is not counted
            assert file.task == "P3"
            continue
        counts = counted(file, folder)
        assert (counts["rows"], counts["answered"]) == (its["rows"], its["answered"]), file
        assert counts["replies"] / counts["rows"] == pytest.approx(its["mean_rounds"], abs=0.0006), file


def test_experts_are_called_as_often_as_the_publishers_count(report: dict[str, Any], folder: Path) -> None:
    """One count per intermediate user message with a header: the first name in it."""
    assert report["exact"] == ALL
    for file in files():
        its = expected().get(f"{file.method}/{file.task}", {})
        if "experts" not in its:
            continue
        lines = (folder.parent / "messages" / file.method / f"{file.task}.jsonl").read_text(encoding="utf-8")
        counts: Counter[str] = Counter()
        for line in lines.split("\n"):
            for message in json.loads(line)[2:] if line else ():
                found = re.match(r"ROUND \d+:\n\n(.*?)'s output:\n", message["content"])
                if found and message["role"] == "user":
                    counts[found.group(1)] += 1
        assert sum(counts.values()) == its["expert_messages"], file
        assert {name: counts[name] for name in its["experts"]} == its["experts"], file


def test_all_logs_together_take_at_most_twice_their_distinct_text(folder: Path) -> None:
    """Per run: every distinct message of any request, and every distinct reply."""
    size = text = 0
    for log in folder.rglob("*.jsonl"):
        size += log.stat().st_size
        texts = set()
        for line in objects(log):
            if line["e"] == "Message":
                texts.add((line["role"], line["content"]))
            elif line["e"] == "Replied":
                texts.add(("assistant", line["reply"]["text"]))
        text += sum(len(content.encode()) for _, content in texts)
    print(f"\n{size / 1e6:.1f} MB of logs hold {text / 1e6:.1f} MB of text: {size / text:.2f} times")
    assert size <= 2 * text


def logs_to_edit(folder: Path) -> list[Path]:
    """200 logs, spread."""
    return random.Random(1).sample(sorted(folder.rglob("*.jsonl")), 200)


def test_a_changed_byte_in_any_reply_of_200_logs_is_caught(folder: Path) -> None:
    """Each reply once, at a random byte of its text; the last one too."""
    chance = random.Random(2)
    edited = 0
    for log in logs_to_edit(folder):
        lines = log.read_bytes().split(b"\n")
        for index, line in enumerate(lines):
            if not line.startswith(b'{"e":"Replied"') or b'"text":""' in line:
                continue
            start, end = line.index(b'"text":"') + 8, line.rindex(b'"id":"') - 3
            place = chance.randrange(start, end)
            changed = line[:place] + bytes([line[place] ^ 1]) + line[place + 1 :]
            with pytest.raises(LogError):
                parse(b"\n".join([*lines[:index], changed, *lines[index + 1 :]]))
            edited += 1
    assert edited > 300


def test_a_missing_reply_of_200_logs_is_caught(folder: Path) -> None:
    for log in logs_to_edit(folder):
        lines = log.read_bytes().split(b"\n")
        replies = [i for i, line in enumerate(lines) if line.startswith(b'{"e":"Replied"')]
        for index in replies:
            with pytest.raises((LogError, ReplayError)):
                again(parse(b"\n".join(lines[:index] + lines[index + 1 :])))


def test_damage_is_reported_and_the_others_go_on(folder: Path, tmp_path: Path) -> None:
    """Exit code 2 for damage alone, 3 as soon as a run differs; counts and first differences."""
    some = sorted((folder / META[0] / "GameOf24").iterdir())[:6]
    for log in some:
        shutil.copy(log, tmp_path / log.name)
    data = (tmp_path / some[1].name).read_bytes()
    (tmp_path / some[1].name).write_bytes(data.replace(b'"text":"', b'"text":"x', 1))
    done = meta_tui("replay", tmp_path, "--json", home=tmp_path / "home")
    found = json.loads(done.stdout)
    assert (done.returncode, found["runs"], found["exact"]) == (2, 6, 5)
    assert "OutcomeMismatch: line " in found["groups"][f"{META[0]}/GameOf24"]["first_difference"]
    cut = (tmp_path / some[2].name).read_bytes().split(b"\n")
    (tmp_path / some[2].name).write_bytes(b"\n".join(cut[:-2]) + b"\n")
    done = meta_tui("replay", tmp_path, "--json", home=tmp_path / "home")
    found = json.loads(done.stdout)
    assert (done.returncode, found["runs"], found["exact"]) == (3, 6, 4)


def test_the_published_instruction_can_be_chosen_afterwards(folder: Path) -> None:
    kept = folder.parent / "home" / "instructions"
    assert {path.stem for path in kept.glob("*.json")} == {"suzgun-kalai-2024", "suzgun-kalai-2024-no-python"}
