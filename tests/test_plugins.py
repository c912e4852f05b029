"""Other people's packages: installed beside meta-tui in an environment of its own, the template of
CONTRIBUTING does all that our own methods and tasks do, and a broken package costs one line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("hatchling", reason="builds the packages; it comes with the extra `test`")
pytest.importorskip("pip", reason="installs the packages")

ROOT = Path(__file__).parent.parent
ORIGIN = "meta-tui-twice 1.0"
KINDS = ("method twice", "task doubles", "grader close", "expert digits", "model parrot")
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
OFFLINE = ("--no-build-isolation", "--no-deps", "--no-index", "-q")

BROKEN = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "meta-tui-broken"
version = "0.3"

[project.entry-points."meta_tui.methods"]
broken = "meta_tui_broken:Method"
"""
NOISY = 'print("hello from an import")\nraise ImportError("no module for\\nthat")\n'

ODD = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "meta-tui-odd"
version = "2.0"

[project.entry-points."meta_tui.methods"]
standard = "meta_tui_odd:Fine"
other = "meta_tui_odd:Fine"
plain_class = "meta_tui_odd:Plain"
needy = "meta_tui_odd:Needy"
leaves = "meta_tui_odd_leaves:anything"
skipped = "meta_tui_odd_skips:anything"

[project.entry-points."meta_tui.tasks"]
ungraded = "meta_tui_odd:UNGRADED"
hasty = "meta_tui_odd:HASTY"
game24 = "meta_tui_odd:HASTY"

[project.entry-points."meta_tui.graders"]
strict = "meta_tui_odd:no_grade"
no_grade = "meta_tui_odd:no_grade"
raises = "meta_tui_odd:raises"
quits = "meta_tui_odd:quits"
number = "meta_tui_odd:NUMBER"

[project.entry-points."meta_tui.experts"]
silent = "meta_tui_odd:NUMBER"

[project.entry-points."meta_tui.models"]
script = "meta_tui_odd:raises"
moody = "meta_tui_odd:raises"
quits = "meta_tui_odd:quits"

[tool.hatch.build.targets.wheel]
only-include = ["meta_tui_odd.py", "meta_tui_odd_leaves.py", "meta_tui_odd_skips.py"]
"""
ODD_CODE = """
from typing import ClassVar
import msgspec
from meta_tui.tasks import Family, Grade

class Fine(msgspec.Struct, frozen=True):
    id: ClassVar[str] = "fine"
    async def solve(self, run, question): ...

class Plain:
    id = "plain_class"
    async def solve(self, run, question): ...

class Needy(msgspec.Struct, frozen=True):
    id: ClassVar[str] = "needy"
    must: int
    async def solve(self, run, question): ...

def bad(index, seed):
    raise KeyError("no such thing")

def strict(sample, reply):
    return Grade("correct")

UNGRADED = Family(id="ungraded", title="t", description="d", generate=bad)
HASTY = Family(id="hasty", title="t", description="d", generate=bad, graders={"strict": strict})
NUMBER = 7

def no_grade(sample, reply):
    return True

def raises(*args):
    raise RuntimeError("in a mood")

def quits(*args):
    raise SystemExit("out of here")
"""


class Environment:
    """A virtual environment that has what this one has, and packages of its own."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=False, symlinks=True)
        self.folder = folder
        self.python = folder / "bin" / "python"
        self.site = folder / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
        here = sysconfig.get_path("purelib")
        lines = f"import site; site.addsitedir({here!r})\n{ROOT}\n"
        (self.site / "beside.pth").write_text(lines)

    def install(self, folder: Path) -> None:
        done = subprocess.run(
            [*PIP, "--python", str(self.python), "install", *OFFLINE, str(folder)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def run(self, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        kept = {name: os.environ[name] for name in ("PATH", "LC_ALL", "TZ") if name in os.environ}
        done = subprocess.run(
            [str(self.python), *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            env={**kept, "HOME": str(self.folder), "META_TUI_HOME": str(self.folder / "home")},
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def meta_tui(self, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        return self.run("-m", "meta_tui", *words, code=code)

    def json(self, *words: str) -> Any:
        return json.loads(self.meta_tui(*words, "--json").stdout)


def written(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def template() -> dict[str, str]:
    """The package of CONTRIBUTING, cut out as its reader would."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## A package of your own\n")[2].partition("\n## ")[0]
    (project,) = re.findall(r"```toml\n(.*?)```", section, re.DOTALL)
    (module,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    return {"pyproject.toml": project, "meta_tui_twice.py": module}


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The template's package and a broken one."""
    base = tmp_path_factory.mktemp("two")
    made = Environment(base / "env")
    made.install(written(base / "twice", template()))
    made.install(written(base / "broken", {"pyproject.toml": BROKEN, "meta_tui_broken.py": NOISY}))
    return made


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """A package whose entry points are wrong in every way that we know."""
    base = tmp_path_factory.mktemp("odd")
    made = Environment(base / "env")
    leaves = {
        "meta_tui_odd_leaves.py": "raise SystemExit(3)\n",
        "meta_tui_odd_skips.py": "class Skip(BaseException): ...\nraise Skip('not on this machine')\n",
    }
    made.install(written(base / "odd", {"pyproject.toml": ODD, "meta_tui_odd.py": ODD_CODE, **leaves}))
    return made


def warnings(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.split("\n") if line.startswith("▲")]


def test_methods_lists_it_with_its_package_and_the_broken_one_is_one_line(two: Environment) -> None:
    done = two.meta_tui("methods", "list", "--json")
    rows = {row["id"]: row for row in json.loads(done.stdout)}
    assert rows["twice"] == {"id": "twice", "summary": "Ask, and ask for a second look.", "from": ORIGIN}
    assert rows["standard"]["from"] == "meta-tui"
    assert "broken" not in rows
    (line,) = warnings(done)
    assert "method broken of meta-tui-broken 0.3" in line
    assert "no module for that" in line
    assert ORIGIN in two.meta_tui("methods").stdout
    shown = two.json("methods", "show", "twice")
    assert shown["from"] == ORIGIN
    assert shown["meaning"] == {"again": "what the second request says."}


def test_tasks_lists_it_with_its_package_and_the_grader_too(two: Environment) -> None:
    rows = {row["id"]: row for row in two.json("tasks", "list")}
    assert (rows["doubles"]["from"], rows["doubles"]["graders"]) == (ORIGIN, ["strict"])
    assert (rows["game24"]["from"], rows["game24"]["plugin_graders"]) == ("meta-tui", {"close": ORIGIN})
    done = two.meta_tui("tasks", "list")
    assert re.search(rf"doubles +Doubling .*{ORIGIN}", done.stdout)
    assert f"grader close for every task, from {ORIGIN}" in done.stderr
    assert "twice 72?" in two.meta_tui("tasks", "show", "doubles:6").stdout  # 10 + (7*6 + 2000) % 90


def test_doctor_says_where_each_comes_from_and_warns_once_without_failing(two: Environment) -> None:
    found = two.json("doctor")
    plugins = [
        (c["name"], c["state"], c["found"]) for c in found["checks"] if c["name"].startswith("plug-in")
    ]
    good = [f"plug-in {what}" for what in KINDS]
    assert plugins[:5] == [(name, "ok", f"from {ORIGIN}") for name in good]
    ((name, state, words),) = plugins[5:]
    assert (name, state) == ("plug-in", "warn")
    assert "meta-tui-broken 0.3" in words
    assert found["ok"] is True


def test_it_solves_is_recorded_and_replays(two: Environment) -> None:
    # sample 0 of seed 2000: 10 + 2000 % 90 = 30
    done = two.json("solve", "--sample", "doubles:0", "--method", "twice", "--model", "parrot:exact")
    assert (done["answer"], done["calls"]) == ("60", 2)
    assert two.meta_tui("replay", done["run"]).stderr == ""
    assert '"model":"parrot:exact"' in Path(done["path"]).read_text().split("\n")[0].replace(": ", ":")


def test_it_is_evaluated_with_its_own_grader_and_every_cell_replays(two: Environment) -> None:
    """The sloppy parrot is off by one: wrong for the strict grader, close enough for the other."""
    words = ["--method", "twice,standard", "--task", "doubles", "--samples", "3", "--to", "bench"]
    two.meta_tui("evaluate", *words, "--model", "parrot:sloppy")
    correct = {}
    for grader in ("strict", "close"):
        summary = two.json("report", "bench", "--grader", grader)
        correct[grader] = {row["method"]: row["correct"] for row in summary["table"]}
    assert correct == {"strict": {"twice": 0, "standard": 0}, "close": {"twice": 3, "standard": 3}}
    assert "close" in two.meta_tui("report", "bench", "--format", "csv", "--grader", "close").stdout
    two.meta_tui("replay", "bench/cells")


def test_a_log_of_it_without_its_package_names_the_method(two: Environment, tmp_path: Path) -> None:
    done = two.json("solve", "twice 4?", "--method", "twice", "--model", "parrot:exact")
    bare = Environment(tmp_path / "env")
    assert "no method 'twice'" in bare.meta_tui("replay", done["path"], code=2).stderr


def test_its_expert_takes_part_where_the_settings_name_it(two: Environment, tmp_path: Path) -> None:
    ask, final = 'Expert Digits:\n"""\n4 8 15 16 23 42\n"""', '>> FINAL ANSWER:\n"""\nten\n"""'
    script = tmp_path / "script.jsonl"
    script.write_text("".join(json.dumps({"text": text}) + "\n" for text in (ask, final)))
    settings = two.folder / "home" / "config.toml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text('[experts."Expert Digits"]\nfunction = "digits"\nabout = "counts digits"\n')
    try:
        done = two.json("solve", "How many digits?", "--model", f"script:{script}")
        assert done["answer"] == "ten"
        assert '"text":"10"' in Path(done["path"]).read_text().replace(": ", ":")
        settings.write_text('[experts."Expert Digits"]\nfunction = "letters"\n')
        wrong = two.meta_tui("solve", "q", "--model", f"script:{script}", code=2).stderr
        assert "function 'letters': write package.module:name; plug-ins bring digits" in wrong
        assert "counts digits" in Path(done["path"]).read_text()  # the Meta Model is told of it
    finally:
        settings.unlink()
    two.meta_tui("replay", done["run"])


IN_THE_APP = """
import asyncio
from meta_tui import config
from meta_tui.tui.app import MetaApp
from meta_tui.tui.screens.ask import AskScreen
from meta_tui.tui.screens.samples import SamplesScreen
from meta_tui.tui.widgets.listing import Listing

async def main():
    app = MetaApp(lambda: AskScreen(config.Settings(method="twice", model="parrot:exact")), fps=0)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        ask = app.screen
        text = "\\n".join(strip.text for strip in ask._compositor.render_strips())
        said = [note.message for note in app._notifications]
        await pilot.press("ctrl+t")
        await pilot.pause()
        assert isinstance(app.screen, SamplesScreen), app.screen
        for key in "doubles:6":
            await pilot.press({":": "colon"}.get(key, key))
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        print(json.dumps({"text": text, "said": said, "method": ask.wish.method, "sample": ask.wish.sample}))

import json
asyncio.run(main())
"""


def test_the_app_offers_the_method_and_the_samples_and_warns_once(two: Environment) -> None:
    found = json.loads(two.run("-c", IN_THE_APP).stdout)
    assert f"twice from {ORIGIN}" in found["text"]
    assert (found["method"], found["sample"]) == ("twice", "doubles:6")
    (said,) = found["said"]
    assert "meta-tui-broken 0.3" in said


def test_who_asks_for_the_broken_one_is_told_what_is_wrong(two: Environment) -> None:
    done = two.meta_tui("solve", "q", "--method", "broken", "--model", "parrot:exact", code=2)
    assert done.stderr.startswith(
        "meta-tui: method broken of meta-tui-broken 0.3 cannot be used: ImportError"
    )
    assert done.stderr.rstrip().endswith("Mend or uninstall meta-tui-broken")
    known = two.meta_tui("solve", "q", "--method", "nothing", "--model", "parrot:exact", code=2).stderr
    assert "twice" in known
    assert "broken" in known


def test_help_and_demo_look_for_no_plug_ins(two: Environment) -> None:
    """Neither the packages' metadata nor any plug-in is read where only our own names are wanted."""
    code = (
        "import sys; from meta_tui.cli import main; main({words!r}); "
        "seen = [m for m in sys.modules if m.startswith('meta_tui_') or m == 'importlib.metadata']; "
        "assert not seen, seen"
    )
    for words in (["--help"], ["demo", "--plain"], ["replay", "game24-python"]):
        two.run("-c", code.format(words=words))


WRONG = {
    "method standard": "the name is meta-tui's own",
    "method other": "its id is 'fine'",
    "method plain_class": "a frozen msgspec.Struct",
    "method needy": "TypeError",
    "method leaves": "SystemExit: 3",
    "method skipped": "Skip: not on this machine",
    "task ungraded": "no grader named strict",
    "task game24": "the name is meta-tui's own",
    "grader strict": "the name is meta-tui's own",
    "grader number": "a grader is a function",
    "expert silent": "an expert is a function",
    "model script": "the name is meta-tui's own",
}


def test_whatever_is_wrong_is_a_line_that_says_so(odd: Environment) -> None:
    found = odd.json("doctor")
    said = [check["found"] for check in found["checks"] if check["name"] == "plug-in"]
    for what, why in WRONG.items():
        (line,) = [words for words in said if words.startswith(f"{what} of meta-tui-odd 2.0 cannot be used")]
        assert why in line
    assert len(said) == len(WRONG)
    assert "standard" in odd.meta_tui("methods", "list").stdout


def test_a_generator_a_grader_and_a_model_that_fail_are_sentences(odd: Environment, tmp_path: Path) -> None:
    assert "task hasty of meta-tui-odd 2.0 made no sample 0: KeyError" in (
        odd.meta_tui("tasks", "show", "hasty:0", code=2).stderr
    )
    answers = tmp_path / "answers.jsonl"
    answers.write_text(json.dumps({"sample": "words:0", "output": "whatever"}) + "\n")
    for grader, why in (("no_grade", "no Grade"), ("raises", "in a mood"), ("quits", "out of here")):
        graded = odd.json("tasks", "grade", str(answers), "--grader", grader)
        assert why in json.dumps(graded)
        assert '"error"' in json.dumps(graded)
    asked = odd.meta_tui("solve", "q", "--model", "moody:x", "--method", "standard", code=2)
    assert "model moody of meta-tui-odd 2.0 made no model 'x'" in asked.stderr
    asked = odd.meta_tui("solve", "q", "--model", "quits:x", "--method", "standard", code=2)
    assert "model quits of meta-tui-odd 2.0 made no model 'x': SystemExit" in asked.stderr
    missing = odd.meta_tui("tasks", "grade", str(answers), "--grader", "nobody", code=2)
    assert (
        "there is no grader 'nobody'; there are strict, paper, both, no_grade, quits, raises"
        in missing.stderr
    )
