"""Import of the runs that the authors of meta-prompting published.

The authors' repository holds, for every run, the final history of the Meta Model. This module
recovers what each call must have returned and then runs the ordinary method with those replies
and the ordinary writer; nothing of a history is copied into a log. So every imported run is also
a test of the method: replay must give the authors' history back to the byte.

What cannot be recovered and is not claimed: token counts, times, the identity request of
ExpertDynamic and the note of Expert Python (our own wording stands there).
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from meta_tui.chat import CodeResult
from meta_tui.errors import CallFailed, UsageError
from meta_tui.events import Source
from meta_tui.methods import PRESETS, build
from meta_tui.methods.expert_python import CODE_LINE, OUTPUT_LINE, published_result
from meta_tui.models.scripted import Line, ScriptedCode, ScriptedModel
from meta_tui.protocol import ExpertCall, ExpertCalls, FinalAnswer, final_answer, read, requested_code
from meta_tui.run import Doors, RunResult
from meta_tui.runlog import read as read_log
from meta_tui.sources import header, live, message_log, message_log_digest
from meta_tui.store import Instruction
from meta_tui.tasks import Sample, loaders

MODEL = "gpt-4-32k"
LABEL = "Question: "
BASELINE_SUFFIX = "-zero-shot-cot"
GAP = "\n\n"

METHOD_IDS: dict[str, str] = {
    "MetaPromptingWithPython": "meta_prompting",
    "MetaPromptingWithoutPython": "meta_prompting",
    "Standard": "standard",
    "ZeroShotCoT": "zero_shot_cot",
    "ExpertStatic": "expert_static",
    "ExpertDynamic": "expert_dynamic",
    "MultiPersona": "multipersona",
}
"""The authors' method name -> ours."""

TASK_IDS = loaders.AUTHORS
"""The authors' task name -> ours."""

_EARLY_NOTICE = {"CheckmateInOne", "GameOf24", "geometric_shapes"}
_SHORT = {"ExpertDynamic", "MultiPersona"}
_PRESET = PRESETS["published"]
_NOTICE: str = _PRESET.settings["notice"]
_TEXTS = ("instruction", "label", "suffix", "system", "error", "feedback", "expert_system", "placement")


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """One file of runs in the authors' layout, not yet read."""

    method: str
    task: str
    read: Callable[[], bytes]
    name: str


@dataclass(slots=True)
class _Script:
    """What the calls of one run returned, in the order in which they were made."""

    replies: list[Line] = field(default_factory=list)
    results: list[CodeResult] = field(default_factory=list)
    feedback: str | None = None
    error: str | None = None

    def fail(self, times: int, kind: str = "server") -> None:
        self.replies += [CallFailed(kind, "failed in the published run") for _ in range(times)]


def published_files(
    path: Path, methods: Iterable[str] = (), tasks: Iterable[str] = ()
) -> list[PublishedFile]:
    """The files of runs below `path`, a folder or a zip in the authors' layout.

    Args:
        methods: only these of the authors' methods; all if empty.
        tasks: only these of the authors' tasks; all if empty.

    Raises:
        UsageError: nothing there is in that layout, or a file stands there twice.
    """
    files = _zip_files(path) if path.is_file() else _folder_files(path)
    wanted_methods, wanted_tasks = set(methods), set(tasks)
    found = [
        file
        for file in _named(files)
        if (not wanted_methods or file.method in wanted_methods)
        and (not wanted_tasks or file.task in wanted_tasks)
    ]
    if not found:
        raise UsageError(
            f"{path} holds no published runs{' of that method and task' if methods or tasks else ''}; "
            "give the folder or zip that holds outputs/<Method>/<task>.jsonl"
        )
    return found


def _folder_files(path: Path) -> list[tuple[PurePosixPath, Callable[[], bytes]]]:
    if not path.is_dir():
        raise UsageError(f"{path} is neither a folder nor a zip file")
    return [(PurePosixPath(p.as_posix()), p.read_bytes) for p in sorted(path.glob("**/outputs/*/*.jsonl"))]


def _zip_files(path: Path) -> list[tuple[PurePosixPath, Callable[[], bytes]]]:
    if not zipfile.is_zipfile(path):
        raise UsageError(f"{path} is no zip file")

    def reader(name: str) -> Callable[[], bytes]:
        def read_member() -> bytes:
            with zipfile.ZipFile(path) as archive:
                return archive.read(name)

        return read_member

    with zipfile.ZipFile(path) as archive:
        names = sorted(n for n in archive.namelist() if re.search(r"(?:^|/)outputs/[^/]+/[^/]+\.jsonl$", n))
    return [(PurePosixPath(name), reader(name)) for name in names]


def _named(files: list[tuple[PurePosixPath, Callable[[], bytes]]]) -> Iterator[PublishedFile]:
    seen: set[tuple[str, str]] = set()
    for name, reader in files:
        method, task = name.parent.name, name.stem
        if method not in METHOD_IDS or task.startswith("."):
            continue
        short = task.removesuffix(BASELINE_SUFFIX)
        task = task if (method, short) in seen else short
        if (method, task) in seen:
            raise UsageError(f"{method}/{task} stands there twice ({name}); give the folder of one copy")
        seen.add((method, task))
        yield PublishedFile(method, task, reader, name.name)


def rows(file: PublishedFile) -> list[dict[str, Any]]:
    """The rows of a file.

    Raises:
        UsageError: the file cannot be read, or a row is no object with an input and a message
            log of texts; names the line.
    """
    name = f"{file.method}/{file.name}"
    lines = enumerate(_content(file).split("\n"), 1)
    return [_row(line, f"{name}, line {number}") for number, line in lines if line.strip()]


def size(file: PublishedFile) -> int:
    """How many rows a file has; 0 if it cannot be read."""
    try:
        return sum(1 for line in _content(file).split("\n") if line.strip())
    except UsageError:
        return 0


def _content(file: PublishedFile) -> str:
    try:
        return file.read().decode("utf-8")
    except (OSError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise UsageError(f"{file.method}/{file.name} cannot be read: {error}") from error


def sample(task: str, index: int, row: Mapping[str, Any]) -> Sample:
    """The sample of a row of the authors' data or outputs.

    Args:
        task: the authors' task name, one of TASK_IDS.
        index: the row's 0-based place in its file.

    Raises:
        UsageError: the row has no input, or a target that is no text.
    """
    question, target = row.get("input"), row.get("target", "")
    if not isinstance(question, str) or not isinstance(target, str):
        raise UsageError(f"{task}, row {index}: input and target must be texts")
    meta = {name: row[name] for name in ("name", "ans_type") if isinstance(row.get(name), str)}
    return Sample(input=question, target=target, task=TASK_IDS[task], index=index, meta=meta)


def _row(line: str, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
        "".join((row["input"], *_texts(row["message_log"]))).encode()
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{where}: not a published run ({error!r})") from error
    found: dict[str, Any] = row
    return found


def _texts(log: Any) -> list[str]:
    """The contents of a message log, which is a list of {role, content} and nothing else."""
    if not isinstance(log, list) or len(log) < 2:
        raise ValueError("message_log is no list of messages")
    for message in log:
        if message.keys() != {"role", "content"} or not isinstance(message["role"], str):
            raise ValueError(f"a message is no {{role, content}}: {message!r:.80}")
    return [message["content"] for message in log]


def bounds(file: PublishedFile, logs: list[list[dict[str, str]]]) -> tuple[int, int]:
    """(notice round, round limit) of a file: what its runs show, else the known rule.

    The published runs were not all made with the limits of the published code.
    """
    notice = _seen_notice(logs) or (_early(file) and 10) or 13
    limit = _seen_limit(logs) or (12 if file.method in _SHORT else 16)
    return notice, limit


def _early(file: PublishedFile) -> bool:
    with_python = file.method == "MetaPromptingWithPython" and file.task in _EARLY_NOTICE
    return with_python or file.method in _SHORT


def _seen_notice(logs: list[list[dict[str, str]]]) -> int | None:
    for log in logs:
        for message in log:
            found = _HEADER.match(message["content"])
            if found and message["role"] == "user" and message["content"].endswith(_NOTICE):
                return int(found.group(1))
    return None


def _seen_limit(logs: list[list[dict[str, str]]]) -> int | None:
    for log in logs:
        last = log[-1]
        if last["role"] == "user" and not _HEADER.match(last["content"]):
            numbers = [int(m.group(1)) for m in (_HEADER.match(message["content"]) for message in log) if m]
            return max(numbers)
    return None


_HEADER = re.compile(r"ROUND (\d+):\n\n")


async def import_run(
    file: PublishedFile, row: int, data: Mapping[str, Any], notice: int, limit: int, to: Path
) -> RunResult:
    """Write the run log of one row.

    Args:
        row: its 0-based place in the file.
        data: the row.
        notice: the round of the notice.
        limit: the round limit.
        to: the log to write; an existing one is replaced.

    Raises:
        UsageError: the method, given the recovered replies, does not give the row's history.
    """
    log = data["message_log"]
    where = f"{file.method}/{file.name}, row {row}"
    method_id = METHOD_IDS[file.method]
    script = _recover(log, file.method, notice, where)
    settings, question, identity = _opening(file.method, log, data["input"])
    if identity is not None:
        script.replies.insert(0, identity)
    settings = _PRESET.settings_of(method_id) | settings
    settings |= {"notice_round": notice, "rounds": limit, "system": log[0]["content"]}
    settings |= {"error": script.error or ""}
    if file.method != "MetaPromptingWithPython":
        settings |= {"python_note": ""}
    if method_id == "meta_prompting":
        settings |= {"feedback": script.feedback or "", "python": file.method == "MetaPromptingWithPython"}
        settings |= {"expert_system": _first_sentence(log[0]["content"])}
    source = Source(file.method, file.task, row, message_log_digest(log))
    method = build(method_id, settings)
    started = header(method, question, model=MODEL, params=_PRESET.params, origin="imported", source=source)
    _remove(to)
    doors = Doors(ScriptedModel(script.replies, how=None), ScriptedCode(script.results, how=None))
    result = await live(method, started, doors, log=to, clock=None)
    if message_log(result.messages) != log:
        _remove(to)
        raise UsageError(f"{where}: the recovered replies do not give its history; the file may be damaged")
    return result


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


def _recover(log: list[dict[str, str]], method: str, notice: int, where: str) -> _Script:
    """Walk a history and collect what each call returned."""
    script = _Script()
    python = method == "MetaPromptingWithPython"
    position, number = 1, 1
    while True:
        _, headers = _body(log[position]["content"], number, notice)
        if position + 1 == len(log):
            script.fail(headers)
            return script
        script.fail(headers - 1)
        reply = log[position + 1]["content"]
        last = position + 2 == len(log)
        failed = not last and log[position + 2]["role"] == "assistant"
        if failed or (last and _HEADER.match(reply) and not _ends(reply, method)):
            reply, _ = _body(reply, number, notice)
            script.replies.append(reply)
            script.fail(1, "method")
            position += 1
            continue
        script.replies.append(reply)
        calls = _calls(reply, method)
        if last:
            return script
        following, _ = _body(log[position + 2]["content"], number + 1, notice)
        if calls is None:
            script.error = following
        else:
            _recover_experts(following, calls, python, script, where)
        position, number = position + 2, number + 1


def _ends(reply: str, method: str) -> bool:
    return _calls(reply, method) is None and final_answer(reply) is not None


def _calls(reply: str, method: str) -> tuple[ExpertCall, ...] | None:
    if not method.startswith("MetaPrompting"):
        return None
    match read(reply, "compat"):
        case ExpertCalls(calls):
            return calls
        case FinalAnswer():
            return None
    return None


def _body(content: str, number: int, notice: int) -> tuple[str, int]:
    """(text without the headers of this round and their notices, how many headers)."""
    header = f"ROUND {number}:\n\n"
    count = 0
    while content.startswith(header):
        content, count = content.removeprefix(header), count + 1
    if number == notice:
        for _ in range(count):
            content = content.removesuffix(_NOTICE)
    return content, count


def _recover_experts(
    text: str, calls: tuple[ExpertCall, ...], python: bool, script: _Script, where: str
) -> None:
    """Take the experts' outputs out of the user message that carries them."""
    if not calls:
        script.feedback = text.removeprefix(GAP)
        return
    position = 0
    for index, call in enumerate(calls):
        lead = f'{call.name}\'s output:\n"""\n'
        if not text.startswith(lead, position):
            raise UsageError(f"{where}: the output of {call.name} is not where it should be")
        start = position + len(lead)
        if index + 1 < len(calls):
            end = text.find(f'\n"""{calls[index + 1].name}\'s output:\n"""\n', start)
        else:
            end = text.rfind(f'\n"""{GAP}', start - 1)
        if end < 0:
            raise UsageError(f"{where}: the output of {call.name} does not end")
        _recover_expert(text[start:end], call, python, script, where)
        position = end + 4
    script.feedback = text[position + len(GAP) :]


def _recover_expert(output: str, call: ExpertCall, python: bool, script: _Script, where: str) -> None:
    request: str = "Please run this code!"
    code = requested_code(output, request) if python and call.is_python else None
    if code is None:
        script.replies.append(output)
        return
    marker = f"{CODE_LINE}{GAP}{code}{GAP}{OUTPUT_LINE}{GAP}"
    at = output.find(marker, output.index(request))
    if at < 0:
        raise UsageError(f"{where}: Expert Python asked for a run, but no result stands there")
    script.replies.append(output[:at])
    script.results.append(published_result(output[at + len(marker) :]))


def _opening(method: str, log: list[dict[str, str]], given: str) -> tuple[dict[str, Any], str, str | None]:
    """(settings, question, identity reply) from the first user message of a history."""
    body, _ = _body(log[1]["content"], 1, 0)
    before, question, after = _around(body, given)
    label = LABEL if LABEL in before else ""
    lead, _, description = before.rpartition(LABEL) if label else (before, "", "")
    question = description + question
    settings: dict[str, Any] = {"label": label}
    match method:
        case "MetaPromptingWithPython" | "MetaPromptingWithoutPython":
            settings |= {
                "instruction": lead,
                "instruction_name": "suzgun-kalai-2024",
                "suffix": after.removeprefix(GAP),
            }
            return settings, question, None
        case "Standard":
            return settings, question + after, None
        case "ZeroShotCoT":
            return settings | {"suffix": after.removeprefix(GAP)}, question, None
        case "ExpertDynamic":
            identity, _, link = lead.removesuffix(GAP).rpartition(GAP)
            settings |= {"link": link, "identity_input": given, "preamble": ""}
            return settings, question + after, identity
    return settings | {"preamble": lead.removesuffix(GAP)}, question + after, None


def _around(body: str, given: str) -> tuple[str, str, str]:
    """(what stands before the input, the input, what stands after it). An input that is not there
    is what stands behind the label."""
    if given and given in body:
        return body.rpartition(given)
    lead, label, rest = body.rpartition(LABEL)
    return lead + label, rest, ""


def _first_sentence(text: str) -> str:
    return text.partition(".")[0] + "."


def instruction(method: str, logs: Sequence[Path]) -> Instruction | None:
    """The published instruction and its texts, from imported logs of one method: the wording
    that most of them have. None if there are no logs."""
    found: Counter[str] = Counter()
    texts: dict[str, dict[str, str]] = {}
    for log in logs:
        settings = read_log(log).started.settings
        found[settings["instruction"]] += 1
        kept = texts.setdefault(settings["instruction"], {})
        kept.update({name: settings[name] for name in _TEXTS if settings[name]})
    if not found:
        return None
    name = "suzgun-kalai-2024" if method == "MetaPromptingWithPython" else "suzgun-kalai-2024-no-python"
    common = found.most_common(1)[0][0]
    return Instruction(name, "imported from the published runs (Suzgun & Kalai 2024)", texts[common])
