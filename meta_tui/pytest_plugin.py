"""The pytest plugin for other people's tests: a run of a test that is bound to a cassette.

pytest imports this module at the start of every test run of whoever has meta-tui installed, so it
imports nothing of ours until a test asks for the fixture, and adds nothing to tests that do not.
What a bound run does is `testing`; here are only option, marker, fixture and the report at the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import pytest

if TYPE_CHECKING:
    from meta_tui.testing import CassetteRun

Mode = Literal["none", "once", "new_episodes", "all"]
MODES = ("none", "once", "new_episodes", "all")
MARKER = "meta_tui_cassette"
FIXTURE = "meta_tui_run"
SUFFIX = ".jsonl"
LONGEST_NAME = 120
"""Characters of a cassette's name that is made from a test's."""


@dataclass
class Ledger:
    """What became of the cassettes of a session; plain values, since xdist sends them to and fro.

    Attributes:
        claimed: module file -> names (without ending) of the cassettes that its tests would use.
        folders: folder of cassettes -> module file whose tests used it; empty: a folder that was
            chosen by the tests.
        used: cassettes that a run was bound to.
        left: cassettes whose test passed without a run.
        dropped: cassette, and a recorded outcome that a recording did not use.
        whole: every test of each module was collected.
    """

    claimed: dict[str, list[str]] = field(default_factory=dict)
    folders: dict[str, str] = field(default_factory=dict)
    used: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    dropped: list[tuple[str, str]] = field(default_factory=list)
    whole: bool = True

    def add(self, other: dict[str, Any]) -> None:
        """Take in what an xdist worker found."""
        for module, names in other["claimed"].items():
            self.claimed[module] = sorted({*self.claimed.get(module, ()), *names})
        self.folders |= other["folders"]
        self.used += other["used"]
        self.left += other["left"]
        self.dropped += [(path, what) for path, what in other["dropped"]]
        self.whole = self.whole and other["whole"]

    def unused(self, everything: bool) -> list[tuple[str, str]]:
        """Cassettes and recordings that nothing used: path, and what it is.

        Args:
            everything: all modules were collected; else folders that modules may share are left out.
        """
        found = [(path, "its test passed without a run") for path in set(self.left) - set(self.used)]
        if self.whole:
            found += [(path, "no test uses it") for path in self._orphans(everything)]
        return sorted({*found, *((path, f"not used and dropped: {what}") for path, what in self.dropped)})

    def _orphans(self, everything: bool) -> Iterator[str]:
        for folder, module in self.folders.items():
            if not (module or everything):
                continue
            names = (
                self.claimed.get(module, [])
                if module
                else [one for some in self.claimed.values() for one in some]
            )
            for path in Path(folder).glob(f"*{SUFFIX}"):
                stems = {path.stem, re.sub(r"-\d+$", "", path.stem)}
                if str(path) not in self.used and stems.isdisjoint(names) and not path.name.startswith("."):
                    yield str(path)


LEDGER = pytest.StashKey[Ledger]()
PASSED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--meta-tui-record` and `--meta-tui-unused`."""
    group = parser.getgroup("meta-tui", "runs of language models on cassettes")
    group.addoption(
        "--meta-tui-record",
        choices=MODES,
        default=None,
        help="Whether meta_tui_run records: none (replay only; the default), once (what is missing), "
        "new_episodes (further requests), all (anew). Without it pytest-recording's --record-mode counts.",
    )
    group.addoption(
        "--meta-tui-unused",
        choices=("report", "fail"),
        default="report",
        help="What cassettes and recordings that no test used are: a report at the end, or a failure too.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """The marker, and a ledger for this process."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(name=None, *, record=None, allow_hosts=(), **arguments): the cassette of the test's "
        f"{FIXTURE}, how it is recorded where no option says it, hosts that stay open, and arguments of its runs.",
    )
    config.stash[LEDGER] = Ledger(whole=_is_whole(config))


def _unused(config: pytest.Config) -> list[tuple[str, str]]:
    source = getattr(config, "args_source", None)  # since pytest 7.2
    return config.stash[LEDGER].unused(source is not None and source.name != "ARGS")


def _is_whole(config: pytest.Config) -> bool:
    named = any("::" in str(argument) for argument in config.args)
    return not named and not config.getoption("lf", False)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Note which cassettes have a test, before any is deselected; marked tests get the fixture. A
    module that could not be collected may have tests for any cassette."""
    ledger = session.config.stash[LEDGER]
    ledger.whole = ledger.whole and not session.testsfailed
    claimed = ledger.claimed
    for item in items:
        names = getattr(item, "fixturenames", None)
        if names is None:
            continue
        if item.get_closest_marker(MARKER) is not None and FIXTURE not in names:
            names.append(FIXTURE)
        if FIXTURE in names:
            claimed.setdefault(str(item.path), []).append(_name(item))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Remember which tests passed: only of those it is said that they left a cassette unused."""
    outcome: Any = yield
    report: pytest.TestReport = outcome.get_result()
    if report.when == "call":
        item.stash[PASSED] = report.passed


@pytest.fixture(scope="module")
def meta_tui_cassette_dir(request: pytest.FixtureRequest) -> Path:
    """The folder of the cassettes of a module's tests; override it to have them elsewhere."""
    return _folder(request.path)


@pytest.fixture
def meta_tui_run(request: pytest.FixtureRequest, meta_tui_cassette_dir: Path) -> Iterator[CassetteRun]:
    """Runs that are bound to the test's cassette: `result = meta_tui_run("6 * 7?", model=...)`, in
    coroutines `await meta_tui_run.solve_async(...)`. The network is closed but while recording."""
    from meta_tui.testing import CassetteRun, Network

    item: pytest.Item = request.node
    _, arguments = _marked(item)
    hosts = arguments.pop("allow_hosts", ())
    mode = _mode(request.config, arguments.pop("record", None))
    folder = Path(meta_tui_cassette_dir)
    with Network(hosts) as network:
        runs = CassetteRun(folder / f"{_name(item)}{SUFFIX}", mode, item.nodeid, network, arguments)
        yield runs
    ledger = request.config.stash[LEDGER]
    ledger.folders[str(folder)] = str(item.path) if folder == _folder(item.path) else ""
    ledger.used += map(str, runs.used)
    ledger.dropped += [(str(path), what) for path, what in runs.dropped]
    if not runs.used and item.stash.get(PASSED, False) and runs.path.exists():
        ledger.left.append(str(runs.path))


def _folder(module: Path) -> Path:
    return module.parent / "cassettes" / module.stem


def _marked(item: pytest.Item) -> tuple[str, dict[str, Any]]:
    """The cassette's name as the markers give it, and their other arguments; the nearest one wins."""
    name = ""
    arguments: dict[str, Any] = {}
    for marker in reversed(list(item.iter_markers(MARKER))):
        if len(marker.args) > 1:
            raise pytest.UsageError(f"{item.nodeid}: {MARKER} takes one name; the rest by keyword")
        arguments |= marker.kwargs
        name = arguments.pop("name", None) or (marker.args[0] if marker.args else name)
    return str(name), arguments


def _name(item: pytest.Item) -> str:
    """The name of a test's cassette, without ending: what cannot stand in a file's name is replaced,
    and then a digest keeps two such tests apart."""
    named = _marked(item)[0].removesuffix(SUFFIX)
    classes = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    whole = named or ".".join([*classes, item.name])
    plain = re.sub(r"[^\w.\[\]=+,-]+", "-", whole, flags=re.ASCII)[:LONGEST_NAME].lstrip(".")
    return plain if plain == whole else f"{plain}-{sha256(whole.encode()).hexdigest()[:8]}"


def _mode(config: pytest.Config, marked: str | None) -> Mode:
    """Our option, else pytest-recording's, else the marker's `record`, else none."""
    theirs = config.getoption("--record-mode", None) if config.pluginmanager.has_plugin("recording") else None
    mode = (
        config.getoption("--meta-tui-record")
        or ("all" if theirs == "rewrite" else theirs)
        or marked
        or "none"
    )
    if mode not in MODES:
        raise pytest.UsageError(f"{MARKER}: no record mode {mode!r}; there are {', '.join(MODES)}")
    return cast(Mode, mode)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """An xdist worker hands over what it found; elsewhere unused recordings fail the run if wanted."""
    config = session.config
    ledger = config.stash[LEDGER]
    output = getattr(config, "workeroutput", None)
    if output is not None:
        output["meta_tui"] = {name: getattr(ledger, name) for name in Ledger.__dataclass_fields__}
    elif config.getoption("--meta-tui-unused") == "fail" and session.exitstatus == 0 and _unused(config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Take over what an xdist worker found; one that crashed cannot say what it used."""
    ledger = node.config.stash[LEDGER]
    found = getattr(node, "workeroutput", {}).get("meta_tui")
    if found is None:
        ledger.whole = False
    else:
        ledger.add(found)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Cassettes and recordings that no test used."""
    unused = _unused(config)
    if not unused:
        return
    terminalreporter.section("meta-tui: unused recordings", yellow=True)
    for path, what in unused:
        terminalreporter.line(f"{_near(Path(path), config.rootpath)}: {what}")
    terminalreporter.line("remove what no test needs, or record anew with --meta-tui-record=all")


def _near(path: Path, root: Path) -> Path:
    return path.relative_to(root) if path.is_relative_to(root) else path
