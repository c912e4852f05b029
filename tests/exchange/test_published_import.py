"""Import of the published runs: what stands in the run logs, held against the zip as zipfile and
json read it. A part of the set; the whole of it is checked in tests/long."""

from __future__ import annotations

import asyncio
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

import pytest
from published import META, File, Log, archive, expected, files, meta_rows, rows
from scripted_runs import again, objects

from meta_tui.errors import UsageError
from meta_tui.events import Failed, Requested
from meta_tui.exchange import published
from meta_tui.methods import PRESETS
from meta_tui.runlog import read
from meta_tui.sources import message_log, message_log_digest, replay

CALL = re.compile(r"Expert (\w+(?: \w+){0,4} ?):\n")
SMALL = [(method, "GameOf24") for method in ("ExpertDynamic", "MultiPersona", *META)]


def import_rows(wanted: Iterable[tuple[File, int]], to: Path) -> dict[tuple[File, int], Path]:
    """Import these rows; the notice and the limit come from their whole files."""
    by_file: dict[File, list[int]] = {}
    for file, number in wanted:
        by_file.setdefault(file, []).append(number)
    done: dict[tuple[File, int], Path] = {}

    async def everything() -> None:
        ours = {(f.method, f.task): f for f in published.published_files(archive())}
        for file, numbers in by_file.items():
            found = rows(file)
            its = ours[file.method, file.task]
            notice, limit = published.bounds(its, [row["message_log"] for row in found])
            for number in numbers:
                log = to / file.method / file.task / f"{number}.jsonl"
                await published.import_run(its, number, found[number], notice, limit, log)
                done[file, number] = log

    asyncio.run(everything())
    return done


def is_odd(log: Log) -> bool:
    """A row in which something is not as usual."""
    roles = [message["role"] for message in log]
    texts = [message["content"] for message in log]
    replies = [text for role, text in zip(roles, texts, strict=True) if role == "assistant"]
    return (
        any(a == b for a, b in pairwise(roles))
        or roles[-1] == "user"
        or any(re.match(r"ROUND (\d+):\n\nROUND \1:", text) for text in texts)
        or any(reply.count('"""') > 2 or reply.count('"""') % 2 for reply in replies)
        or any(CALL.search(reply) and ">> FINAL ANSWER:" in reply for reply in replies)
        or any(not CALL.search(reply) and ">> FINAL ANSWER:" not in reply for reply in replies)
        or any("present your final answer." in text for text in texts)
    )


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[File, int], Path]:
    """Every odd meta-prompting row, and some 300 rows spread over all files."""
    archive()
    odd = [(file, number) for file, number, log in meta_rows() if is_odd(log)]
    spread = [(file, n) for file in files() for n in range(0, len(rows(file)), 41)]
    assert len(odd) > 150
    assert len(spread) > 300
    return import_rows(sorted(set(odd + spread)), tmp_path_factory.mktemp("published"))


def test_every_history_is_given_back_as_it_stands_in_the_zip(imported: dict[tuple[File, int], Path]) -> None:
    async def check() -> None:
        for (file, number), log in imported.items():
            result = await replay(read(log))
            assert message_log(result.messages) == rows(file)[number]["message_log"], (file, number)

    asyncio.run(check())


def test_the_first_line_says_where_a_run_came_from(imported: dict[tuple[File, int], Path]) -> None:
    """Authors' names, 0-based row, digest of the canonical message log; the preset's parameters."""
    for (file, number), log in imported.items():
        started = read(log).started
        source = started.source
        assert source is not None
        assert (source.method, source.task, source.row) == (file.method, file.task, number)
        assert source.digest == message_log_digest(rows(file)[number]["message_log"])
        assert (started.origin, started.model) == ("imported", "gpt-4-32k")
        assert started.params == PRESETS["published"].params


def test_an_imported_log_claims_nothing_that_is_not_known(imported: dict[tuple[File, int], Path]) -> None:
    """No times, no usage, no provenance of single replies."""
    for log in imported.values():
        for line in objects(log):
            assert "at" not in line
            assert "how" not in line
            assert "usage" not in line.get("reply", {})


def test_raw_replies_of_the_meta_model_are_those_of_the_zip(imported: dict[tuple[File, int], Path]) -> None:
    """Rule 11: only a reply that a second assistant message follows got headers, of its own round;
    a model that wrote such a header itself keeps it."""
    for (file, number), log in imported.items():
        replies = [o["reply"]["text"] for o in objects(log) if o["e"] == "Replied" and not o.get("span")]
        history = rows(file)[number]["message_log"]
        theirs = []
        for message, following in zip_longest(history, history[1:]):
            if message["role"] == "assistant":
                failed = following is not None and following["role"] == "assistant"
                text = message["content"]
                theirs.append(re.sub(r"^(ROUND \d+:\n\n)+", "", text) if failed else text)
        assert theirs == replies


def test_expert_requests_are_built_by_the_rules(imported: dict[tuple[File, int], Path]) -> None:
    """Rule 5, worked out here from the raw replies: name, blank line, stripped part; the system
    message is the first sentence of the generic one. Expert Python's note is our own wording."""
    seen = 0
    for (file, number), log in imported.items():
        if file.method not in META:
            continue
        recording = read(log)
        history = rows(file)[number]["message_log"]
        failed = {e.span for e in recording.events if isinstance(e, Failed)}
        asked = [
            e.messages
            for e in recording.events
            if isinstance(e, Requested) and e.span and e.span not in failed
        ]
        wanted = []
        for reply, following in pairwise(history):
            if reply["role"] == "assistant" and following["role"] == "user":
                wanted += requests_in(reply["content"])
        contents = [messages[1].content for messages in asked]
        assert len(contents) == len(wanted)
        for content, request in zip(contents, wanted, strict=True):
            assert content.endswith(request)
            if not request.startswith("You are Expert Python.\n") or file.method == META[1]:
                assert content == request
        first = history[0]["content"].split(".")[0] + "."
        assert all(messages[0].content == first for messages in asked)
        seen += len(wanted)
    assert seen > 500


def requests_in(reply: str) -> list[str]:
    if not CALL.search(reply):
        return []
    parts = reply.split('"""')
    found = []
    for index in range(1, len(parts), 2):
        name = parts[index - 1].strip().split("\n")[-1]
        if "Expert " in name:
            name = name[:-1] if name.endswith(":") else name
            found.append(f"You are {name}.\n\n{parts[index].strip()}")
    return found


def test_two_assistant_messages_in_a_row_are_a_failure_at_the_first_expert(
    imported: dict[tuple[File, int], Path],
) -> None:
    rows_seen = 0
    for (file, number), log in imported.items():
        history = rows(file)[number]["message_log"]
        pairs = sum(a["role"] == b["role"] == "assistant" for a, b in pairwise(history))
        if not pairs:
            continue
        rows_seen += 1
        failed = [line for line in objects(log) if line["e"] == "Failed" and line.get("span")]
        assert [line["kind"] for line in failed] == ["method"] * pairs
        ended = {o["span"]: o.get("status") for o in objects(log) if o["e"] == "SpanFinished"}
        assert [ended[line["span"]] for line in failed] == ["failed"] * pairs
    assert rows_seen > 5


def test_code_runs_come_from_the_report_lines(imported: dict[tuple[File, int], Path]) -> None:
    """The program and what it gave, as they stand between the two published lines."""
    code, output = (
        "Here is the Python code used to solve the problem:",
        "Here is the output of the code when executed:",
    )
    runs = 0
    for (file, number), log in imported.items():
        texts = [m["content"] for m in rows(file)[number]["message_log"] if m["role"] == "user"]
        found = objects(log)
        programs = [line["program"]["code"] for line in found if line["e"] == "CodeStarted"]
        results = [line["result"] for line in found if line["e"] == "CodeFinished"]
        assert len(programs) == len(results)
        if file.method != META[0]:
            assert programs == []
        whole = "\n".join(texts)
        for program, result in zip(programs, results, strict=True):
            assert f"{code}\n\n{program}\n\n{output}\n\n{result.get('stdout', '')}" in whole
            runs += 1
        assert len(programs) == whole.count(f"\n\n{output}\n\n")
    assert runs > 40


def test_an_identity_is_an_inferred_reply_to_our_own_request(imported: dict[tuple[File, int], Path]) -> None:
    """It is what stands before the link sentence of the first message."""
    seen = 0
    for (file, number), log in imported.items():
        if file.method != "ExpertDynamic":
            continue
        found = objects(log)
        (identity,) = [o["reply"]["text"] for o in found if o["e"] == "Replied" and o.get("span") == "1"]
        first = rows(file)[number]["message_log"][1]["content"]
        assert first.startswith(f"ROUND 1:\n\n{identity}\n\n{found[0]['settings']['link']}")
        assert identity.strip()
        seen += 1
    assert seen > 30


@pytest.mark.parametrize(("method", "task"), SMALL)
def test_a_whole_file_has_the_counts_that_its_publishers_give(method: str, task: str, tmp_path: Path) -> None:
    """Rows, mean rounds, answered, and the experts by the rule of expected_even.json."""
    check_counts(method, task, tmp_path)


def check_counts(method: str, task: str, to: Path) -> None:
    (file,) = [f for f in files() if (f.method, f.task) == (method, task)]
    wanted = expected()[f"{method}/{task}"]
    logs = import_rows([(file, number) for number in range(len(rows(file)))], to)
    counts = Counter[str]()
    replies = 0
    for log in logs.values():
        found = objects(log)
        replies += (
            sum(o["e"] == "Replied" and o.get("span", "") != "1" for o in found)
            if (method == "ExpertDynamic")
            else sum(o["e"] == "Replied" and not o.get("span") for o in found)
        )
        counts["answered"] += found[-1]["status"] == "answered"
        result = again(log)
        for message in result.messages[2:]:
            name = re.match(r"ROUND \d+:\n\n(.*?)'s output:\n", message.content)
            if message.role == "user" and name:
                counts[f"expert {name.group(1)}"] += 1
    assert len(logs) == wanted["rows"]
    assert replies / len(logs) == pytest.approx(wanted["mean_rounds"], abs=0.0006)
    assert counts["answered"] == wanted["answered"]
    assert {name: counts[f"expert {name}"] for name in wanted.get("experts", {})} == wanted.get("experts", {})


def test_known_limits_are_found_in_the_files() -> None:
    """published/README rule 10: nudge 10 or 13, limit 12 or 16."""
    for file in published.published_files(archive()):
        its = next(f for f in files() if (f.method, f.task) == (file.method, file.task))
        logs = [row["message_log"] for row in rows(its)]
        short = file.method in ("ExpertDynamic", "MultiPersona")
        early = short or (
            file.method == META[0] and file.task in ("CheckmateInOne", "GameOf24", "geometric_shapes")
        )
        assert published.bounds(file, logs) == (10 if early else 13, 12 if short else 16), file


def test_the_published_instruction_is_registered_from_the_logs(
    imported: dict[tuple[File, int], Path],
) -> None:
    """The text that stands before the question in most first messages, with the texts around it."""
    for method in META:
        logs = [log for (file, _), log in imported.items() if file.method == method]
        found = published.instruction(method, logs)
        assert found is not None
        assert found.name == "suzgun-kalai-2024" + ("" if method == META[0] else "-no-python")
        first = next(row for f, _, row in meta_rows() if f.method == method)[1]["content"]
        assert first.startswith("ROUND 1:\n\n" + found.settings["instruction"])
        assert ("Python" in found.settings["instruction"]) is (method == META[0])
    assert published.instruction(META[0], []) is None


# Layouts.


def unpacked(to: Path, wanted: Iterable[File]) -> Path:
    with zipfile.ZipFile(archive()) as data:
        for file in wanted:
            data.extract(file.member, to)
    return to


def test_a_folder_gives_the_same_logs_as_the_zip(tmp_path: Path) -> None:
    wanted = [f for f in files() if f.task == "GameOf24"]
    clone = unpacked(tmp_path / "clone", wanted)
    from_zip = {(f.method, f.task): f for f in published.published_files(archive(), tasks=["GameOf24"])}
    from_folder = {(f.method, f.task): f for f in published.published_files(clone)}
    assert set(from_zip) == set(from_folder)
    for key, file in from_zip.items():
        assert published.rows(file) == published.rows(from_folder[key])


def test_files_and_methods_that_are_unknown_are_passed_over(tmp_path: Path) -> None:
    """A full clone holds more than runs; so does a zip that a file manager made."""
    (file,) = [f for f in files() if (f.method, f.task) == ("Standard", "GameOf24")]
    clone = unpacked(tmp_path / "clone", [file])
    for name in (
        "outputs/README.md",
        "outputs/NewMethod/GameOf24.jsonl",
        "outputs/Standard/.DS_Store",
        "outputs/Standard/._GameOf24.jsonl",
        "outputs/Standard/notes.txt",
        "outputs/Standard/deeper/x.jsonl",
        "data/GameOf24.jsonl",
        "prompts/x.jsonl",
        "__MACOSX/outputs/Standard/._GameOf24.jsonl",
    ):
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_bytes(b"\x00\x05\x16\x07 no run")
    assert [(f.method, f.task) for f in published.published_files(clone)] == [("Standard", "GameOf24")]
    packed = tmp_path / "clone.zip"
    with zipfile.ZipFile(packed, "w") as data:
        for path in sorted(clone.rglob("*")):
            data.write(path, Path("meta-prompting-main") / path.relative_to(clone))
    assert [(f.method, f.task) for f in published.published_files(packed)] == [("Standard", "GameOf24")]


def test_names_of_methods_and_tasks_choose(tmp_path: Path) -> None:
    found = published.published_files(archive(), ["Standard"], ["GameOf24", "word_sorting"])
    assert [(f.method, f.task) for f in found] == [("Standard", "GameOf24"), ("Standard", "word_sorting")]
    with pytest.raises(UsageError, match="of that method and task"):
        published.published_files(archive(), ["Standard"], ["Nothing"])


def test_two_copies_of_a_file_are_not_mixed(tmp_path: Path) -> None:
    wanted = [f for f in files() if (f.method, f.task) == (META[0], "GameOf24")]
    unpacked(tmp_path / "one", wanted)
    unpacked(tmp_path / "two", wanted)
    with pytest.raises(UsageError, match="stands there twice"):
        published.published_files(tmp_path)


@pytest.mark.parametrize("kind", ["absent", "empty folder", "no zip", "zip of nothing"])
def test_what_holds_no_runs_says_what_is_wanted(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    match kind:
        case "empty folder":
            path.mkdir()
        case "no zip":
            path.write_bytes(b"no zip")
        case "zip of nothing":
            with zipfile.ZipFile(path, "w") as data:
                data.writestr("readme.txt", "hello")
    with pytest.raises(UsageError):
        published.published_files(path)


GOOD = {
    "input": "4 5 6 10",
    "target": "x",
    "message_log": [
        {"role": "system", "content": "S."},
        {"role": "user", "content": "ROUND 1:\n\nQuestion: D\n\n4 5 6 10"},
        {"role": "assistant", "content": '>> FINAL ANSWER:\n"""\n1\n"""'},
    ],
}


def one_file(lines: list[bytes], folder: Path, method: str = "Standard") -> published.PublishedFile:
    path = folder / "outputs" / method / "T.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\n".join(lines))
    (file,) = published.published_files(folder)
    return file


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[]",
        b"3",
        b'"text"',
        b"\xff",
        b"[" * 100_000,
        json.dumps({**GOOD, "input": None}).encode(),
        json.dumps({k: v for k, v in GOOD.items() if k != "input"}).encode(),
        json.dumps({**GOOD, "message_log": None}).encode(),
        json.dumps({**GOOD, "message_log": []}).encode(),
        json.dumps({**GOOD, "message_log": {"1": 2, "2": 3}}).encode(),
        json.dumps({**GOOD, "message_log": ["a", "b"]}).encode(),
        json.dumps({**GOOD, "message_log": [{"role": "system"}, {"role": "user", "content": "x"}]}).encode(),
        json.dumps({**GOOD, "message_log": [{"role": "u", "content": 1}] * 2}).encode(),
        json.dumps({**GOOD, "message_log": [{"role": None, "content": "x"}] * 2}).encode(),
        json.dumps({**GOOD, "message_log": [{"role": "u", "content": "x", "name": "y"}] * 2}).encode(),
        json.dumps({**GOOD, "message_log": [{"role": "u", "content": "\ud800"}] * 2}).encode(),
    ],
)
def test_a_damaged_row_gives_one_error_that_names_it(line: bytes, tmp_path: Path) -> None:
    good = json.dumps(GOOD).encode()
    file = one_file([good, b"", line, good], tmp_path)
    where = (
        "Standard/T.jsonl cannot be read"
        if line == b"\xff"
        else "Standard/T.jsonl, line 3: not a published run"
    )
    with pytest.raises(UsageError, match=where):
        published.rows(file)


def test_a_zip_member_that_is_damaged_gives_one_error(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as data:
        data.writestr("outputs/Standard/T.jsonl", json.dumps(GOOD))
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"4 5 6 10", b"4 5 6 11", 1))
    (file,) = published.published_files(path)
    with pytest.raises(UsageError, match=r"Standard/T.jsonl cannot be read"):
        published.rows(file)


def histories() -> list[Any]:
    """Histories that no published loop can have written."""
    log = GOOD["message_log"]
    assert isinstance(log, list)
    call = 'Expert Ada:\n"""\nGo.\n"""'
    return [
        [log[0], {"role": "user", "content": "no header"}, log[2]],
        [log[0], log[1], {"role": "user", "content": "x"}, log[2]],
        [*log, log[2]],
        [*log, {"role": "user", "content": "ROUND 2:\n\nafter the answer"}],
        [
            log[0],
            log[1],
            {"role": "assistant", "content": call},
            {"role": "user", "content": "ROUND 2:\n\nno output"},
        ],
        [log[0], log[1], {"role": "assistant", "content": "no answer"}],
        [{"role": "user", "content": "S"}, log[1], log[2]],
    ]


@pytest.mark.parametrize("number", range(7))
@pytest.mark.parametrize("method", ["Standard", "ExpertDynamic", *META])
def test_a_history_that_the_loop_cannot_have_written_is_refused_and_leaves_no_log(
    number: int, method: str, tmp_path: Path
) -> None:
    """Or it is one that it can have written, and then it is given back."""
    history = histories()[number]
    file = one_file([json.dumps({**GOOD, "message_log": history}).encode()], tmp_path / "in", method)
    (row,) = published.rows(file)
    log = tmp_path / "out" / "0.jsonl"
    refused: UsageError | None = None
    try:
        asyncio.run(published.import_run(file, 0, row, 13, 16, log))
    except UsageError as error:
        refused = error
    if refused:
        assert str(refused).startswith(f"{method}/T.jsonl, row 0: ")
        assert not log.exists()
    else:
        assert message_log(again(log).messages) == history


@pytest.mark.parametrize("given", ["", "4 5 6 10", "not in the message"])
def test_an_input_that_is_not_where_it_should_be_does_no_harm(given: str, tmp_path: Path) -> None:
    file = one_file([json.dumps({**GOOD, "input": given}).encode()], tmp_path / "in")
    (row,) = published.rows(file)
    log = tmp_path / "0.jsonl"
    asyncio.run(published.import_run(file, 0, row, 13, 16, log))
    assert message_log(again(log).messages) == GOOD["message_log"]


def test_a_task_name_never_leaves_the_folder(tmp_path: Path) -> None:
    """Names in a zip are foreign text."""
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as data:
        for name in ("...jsonl", "..jsonl", "../../x.jsonl", "a/../../x.jsonl", "T.jsonl"):
            data.writestr(f"outputs/Standard/{name}", json.dumps(GOOD))
    found = published.published_files(path)
    assert {f.task for f in found} <= {"T", "x"}
    for file in found:
        assert Path(file.task).name == file.task
        assert not file.task.startswith(".")
