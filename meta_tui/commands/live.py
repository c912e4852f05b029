"""Commands that ask models: `solve`, `resume` and `fork`. Whatever is paid for is recorded."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from meta_tui.commands.output import has_colour, is_terminal, json_option, note, print_json, write
from meta_tui.errors import UsageError

if TYPE_CHECKING:
    from meta_tui.chat import Params
    from meta_tui.config import Settings
    from meta_tui.journal import Emit
    from meta_tui.run import RunResult, Stop
    from meta_tui.session import Session
    from meta_tui.tasks import Sample

F = TypeVar("F", bound=Callable[..., Any])
HAVE_AN_OPTION = ("model", "temperature", "top_p", "max_tokens")
"""Parameters of a request that `solve` has options for."""

Start = Callable[["Session", list["Emit"], "Stop"], Awaitable["RunResult"]]

_MODEL_OPTIONS = (
    click.option("--model", help="provider/name, a server's own name, copy-paste, or script:FILE."),
    click.option("--base-url", help="Address of an OpenAI-compatible server."),
    click.option("--max-calls", type=click.IntRange(min=1), help="Calls of the run at most."),
    click.option(
        "--max-total-tokens", "max_tokens_total", type=click.IntRange(min=1), help="Tokens at most."
    ),
    click.option("--max-dollars", type=click.FloatRange(min=0), help="Dollars at most."),
    click.option("--max-seconds", type=click.FloatRange(min=0), help="Seconds at most."),
    click.option("--timeout", type=click.FloatRange(min=0), help="Seconds of silence that end an attempt."),
    click.option("--deadline", type=click.FloatRange(min=0), help="Seconds of a call with all attempts."),
    click.option("--retries", type=click.IntRange(min=0), help="Attempts after the first."),
    click.option("--cache/--no-cache", default=None, help="Use the reply cache."),
    click.option(
        "--sandbox", type=click.Choice(["warn", "strict"]), help="strict: refuse without all layers."
    ),
    click.option("--fresh", is_flag=True, help="Read nothing from the cache; replace what it holds."),
    click.option("--plain", is_flag=True, help="Write lines of text instead of opening the app."),
    click.option("--brief", is_flag=True, help="With --plain: one line for each thing that happened."),
)


def model_options(function: F) -> F:
    """The options of every command that asks models."""
    for option in reversed(_MODEL_OPTIONS):
        function = option(function)
    return function


def stream_option(function: F) -> F:
    """`--stream TASK[:A-B]`."""
    return click.option(
        "--stream",
        metavar="TASK[:A-B]",
        help="The samples (from A to B) of a task, or of a task file, in order.",
    )(function)


@click.command("solve")
@click.argument("question", required=False)
@click.option(
    "--file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Question from a file."
)
@click.option("--sample", default="", metavar="TASK:INDEX", help="A sample of a task, such as game24:17.")
@click.option("--method", help="Method id; `meta-tui methods` lists them.")
@click.option("--preset", help="default or published.")
@click.option("--no-python", is_flag=True, help="No Expert Python.")
@click.option("--rounds", type=click.IntRange(min=1), help="Rounds at most.")
@click.option("--instruction", default="", help="A named instruction that you imported.")
@click.option("--set", "extra", multiple=True, metavar="NAME=VALUE", help="Any setting of the method.")
@click.option("--temperature", type=click.FloatRange(min=0))
@click.option("--top-p", type=click.FloatRange(0, 1))
@click.option("--max-tokens", type=click.IntRange(min=1), help="Tokens of one reply at most.")
@click.option(
    "--param", "own", multiple=True, metavar="NAME=JSON", help="Any other parameter of the requests."
)
@click.option("--seed", type=int, help="Seed of the method's own chance.")
@click.option("--repeat", default="0", show_default=True, help="Another repeat gets replies of its own.")
@click.option("--note", "remark", default="", help="Words that stand in the log's first line.")
@click.option("--continue", "continue_", metavar="RUN", help="Ask a follow-up of a run that answered.")
@stream_option
@click.option(
    "--knowledge", metavar="FILE", help="Begin with what an earlier run learned (a file or a name)."
)
@click.option(
    "--chain", "chain", metavar="RUN|FILE", help="Use a chain of layers (`chain export`) on this question."
)
@model_options
@json_option
def solve_command(
    question: str | None,
    file: Path | None,
    sample: str,
    no_python: bool,
    rounds: int | None,
    instruction: str,
    extra: tuple[str, ...],
    own: tuple[str, ...],
    repeat: str,
    remark: str,
    continue_: str | None,
    stream: str | None,
    knowledge: str | None,
    chain: str | None,
    fresh: bool,
    plain: bool,
    brief: bool,
    as_json: bool,
    **flags: Any,
) -> int:
    """Solve a question with a live model. The run is recorded and can be replayed at no cost.

    The question is the argument, a --file, a --sample of a task (its target stays unknown to the
    run), or standard input. With --stream the samples of a task
    are solved in order in one run, and methods that learn carry on what they learned.
    """
    from meta_tui import runlog, session, store
    from meta_tui.streamed import find_knowledge

    settings = _settings(_for_chain(flags) if chain else flags)
    chosen = _method_settings(no_python, rounds, extra)
    if chain:
        chosen = _chain_settings(chain) | chosen
    continues = runlog.read(store.find(continue_)) if continue_ else None
    if stream and (question or file or sample or continue_):
        raise UsageError(
            "--stream brings its own questions; leave the question, --file, --sample and --continue out"
        )
    planned = session.plan(
        "" if stream else _asked(question, file, sample),
        settings,
        sample=sample,
        method_settings=chosen,
        instruction=instruction,
        repeat=repeat,
        continues=continues,
        params=_own_params(own),
        note=remark,
        stream=stream_samples(stream),
        knowledge=find_knowledge(knowledge) if knowledge else None,
    )

    async def start(live: Session, consumers: list[Emit], stop: Stop) -> RunResult:
        return await session.solve(planned, live, consumers, stop)

    return _run(start, planned.log, settings, fresh, plain, brief, as_json)


@click.command("resume")
@click.argument("run")
@stream_option
@model_options
@json_option
def resume_command(
    run: str, stream: str | None, fresh: bool, plain: bool, brief: bool, as_json: bool, **flags: Any
) -> int:
    """Go on with a run that was stopped, failed or was killed. Nothing that stands in its log is
    asked again."""
    from meta_tui import runlog, session, sources, store

    path = store.find(run)
    recording = runlog.read(path)
    settings = _settings(flags, recording.started.model)
    sources.check_log(path)

    samples = stream_samples(stream)

    async def start(live: Session, consumers: list[Emit], stop: Stop) -> RunResult:
        return await session.resume(path, live, consumers, stop, samples)

    return _run(start, path, settings, fresh, plain, brief, as_json)


@click.command("fork")
@click.argument("run")
@click.option("--at", "line", type=click.IntRange(min=2), required=True, help="Line of the log to fork at.")
@click.option(
    "--edit",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    help="A file whose text takes the place of the reply on that line.",
)
@click.option("--redraw", is_flag=True, help="Ask for the outcome on that line anew (the default).")
@model_options
@json_option
def fork_command(
    run: str,
    line: int,
    edit: Path | None,
    redraw: bool,
    fresh: bool,
    plain: bool,
    brief: bool,
    as_json: bool,
    **flags: Any,
) -> int:
    """Go on differently from a line of a run: what was recorded before it counts, what follows is
    asked live. The run itself stays as it is."""
    from meta_tui import runlog, session, sources, store

    if edit and redraw:
        raise UsageError("--edit and --redraw exclude each other; give one")
    source = store.find(run)
    recording = runlog.read(source)
    settings = _settings(flags, recording.started.model)
    session.check_model(settings)
    new = store.new_run_id()
    path = store.home().runs / f"{new}.jsonl"
    text = None if edit is None else _read(edit).removesuffix("\n")
    sources.fork(recording, source.stem, line, path, new, edit=text, origin=session.origin(settings))

    async def start(live: Session, consumers: list[Emit], stop: Stop) -> RunResult:
        return await session.resume(path, live, consumers, stop)

    return _run(start, path, settings, fresh, plain, brief, as_json)


def _for_chain(flags: dict[str, Any]) -> dict[str, Any]:
    """The flags of a run that uses a chain: the method can only be one."""
    if flags.get("method") not in (None, "meta_n"):
        raise UsageError(f"--chain is for --method meta_n, not for {flags['method']}; leave --method out")
    return {**flags, "method": "meta_n"}


def _chain_settings(chain: str) -> dict[str, Any]:
    """Settings that run a chain as it is; `--set mode=linear` grows on it instead."""
    from meta_tui.commands.chain import find_chain

    return {"mode": "apply", "chain": find_chain(chain).layers}


def stream_samples(text: str | None) -> list[Sample]:
    """The samples that `TASK`, `TASK:A-B` or `FILE:A-B` names, in order."""
    if not text:
        return []
    task, _, places = text.rpartition(":")
    first, dash, last = places.partition("-")
    if not task or not (dash and first.isdecimal() and last.isdecimal()):
        return _of_task(text)
    if int(first) > int(last):
        raise UsageError(f"--stream {text}: write the smaller number first")
    found = _of_task(task, int(last) + 1)[int(first) : int(last) + 1]
    if len(found) <= int(last) - int(first):
        raise UsageError(f"--stream {text}: there are only {len(found)} of these samples")
    return found


def _of_task(task: str, count: int | None = None) -> list[Sample]:
    """The samples of a task id, or all of a file of one's own under names of their own."""
    from meta_tui.tasks import loaders

    return loaders.own(Path(task)) if Path(task).is_file() else loaders.samples(task, count or loaders.COUNT)


def _settings(flags: dict[str, Any], model: str = "") -> Settings:
    from meta_tui import config

    config.load_env_file()
    resolved = config.resolve(flags)
    if model and not resolved.settings.model:
        return config.resolve({**flags, "model": model}).settings
    return resolved.settings


def _asked(question: str | None, file: Path | None, sample: str) -> str:
    """The question of the run: a sample's, as its family words it, or a person's own."""
    if not sample:
        return _question(question, file)
    if question or file:
        raise UsageError("--sample brings its own question; leave the question and --file out")
    from meta_tui.tasks import family, loaders

    found = loaders.sample(sample)
    return family(found.task).question(found)


def _question(question: str | None, file: Path | None) -> str:
    if question and file:
        raise UsageError("give the question as an argument or with --file, not both")
    if file:
        return _read(file).strip()
    if question and question != "-":
        return question
    if sys.stdin.isatty() and question != "-":
        raise UsageError('what is the question? `meta-tui solve "..."`, --file FILE, or standard input')
    return _stdin().strip()


def _read(path: Path) -> str:
    if str(path) == "-":
        return _stdin()
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error


def _stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is no UTF-8: {error}") from error


def _method_settings(no_python: bool, rounds: int | None, extra: tuple[str, ...]) -> dict[str, Any]:
    import msgspec

    chosen: dict[str, Any] = {}
    for item in extra:
        name, equals, value = item.partition("=")
        if not equals:
            raise UsageError(f"--set {item}: write NAME=VALUE")
        try:
            chosen[name] = msgspec.json.decode(value)
        except msgspec.DecodeError:
            chosen[name] = value
    if no_python:
        chosen["python"] = False
    if rounds is not None:
        chosen["rounds"] = rounds
        chosen.setdefault("notice_round", max(1, rounds - 1))
    return chosen


def _own_params(own: tuple[str, ...]) -> Params:
    import msgspec

    from meta_tui.chat import Params

    given: dict[str, Any] = {}
    for item in own:
        name, equals, value = item.partition("=")
        if not equals or name in HAVE_AN_OPTION:
            instead = f"--{name.replace('_', '-')} {value}" if equals else "--param NAME=JSON"
            raise UsageError(f"--param {item}: write {instead}")
        try:
            given[name] = msgspec.json.decode(value)
            msgspec.convert(given, Params)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            known = ", ".join(n for n in Params.__struct_fields__ if n not in HAVE_AN_OPTION)
            raise UsageError(f"--param {item}: {error}. The value is JSON, the name one of {known}") from None
    return msgspec.convert(given, Params)


def _run(
    start: Start, log: Path, settings: Settings, fresh: bool, plain: bool, brief: bool, as_json: bool
) -> int:
    app = not (plain or brief or as_json) and is_terminal() and sys.stdin.isatty()
    if app:
        from meta_tui.tui import solve_screen

        return solve_screen(_source(start, settings, fresh), title=log.stem, log=log)
    return asyncio.run(_plain(start, log, settings, fresh, brief, as_json))


def _source(start: Start, settings: Settings, fresh: bool) -> Callable[..., Awaitable[RunResult]]:
    """The run as the app wants it: something that is given a consumer and a way to stop."""

    async def source(emit: Emit, stop: Stop) -> RunResult:
        from meta_tui import session
        from meta_tui.tui import paste_here, say_here

        live = session.Session(settings, ask=paste_here, fresh=fresh, warn=say_here)
        try:
            return await start(live, [emit], stop)
        finally:
            await live.aclose()

    return source


async def _plain(start: Start, log: Path, settings: Settings, fresh: bool, brief: bool, as_json: bool) -> int:
    from meta_tui import session
    from meta_tui.plain import Plain
    from meta_tui.run import Stop

    live = session.Session(settings, ask=_asker(settings), fresh=fresh, warn=note)
    front = Plain(write, colour=has_colour(), brief=brief, status=live.budget_line)
    stop = Stop()
    try:
        with session.signals(stop, note):
            result = await start(live, [] if as_json else [front.take], stop)
    finally:
        await live.aclose()
    if as_json:
        print_json(_result(result, log, live))
    else:
        note(f"run {log.stem} · {log}")
        if result.status not in ("answered", "completed", "no_answer"):
            note(f"`meta-tui resume {log.stem}` goes on from here")
    return session.exit_code(result)


def _asker(settings: Settings) -> Any:
    if settings.model != "copy-paste":
        return None
    from meta_tui.models.copy_paste import Terminal

    return Terminal(sys.stderr, sys.stdin).ask


def _result(result: RunResult, log: Path, live: Session) -> dict[str, Any]:
    totals = live.ledger.totals
    return {
        "run": log.stem,
        "path": str(log),
        "status": result.status,
        "reason": result.reason,
        "answer": result.answer,
        "method": result.started.method,
        "model": result.started.model,
        "calls": result.calls,
        "cached": totals.cached,
        "tokens": result.tokens,
        "cost": totals.cost,
    }
