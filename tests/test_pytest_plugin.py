"""The pytest plugin, as somebody else's test suite uses it: every test here runs pytest on a small
suite of its own in a process of its own, with the plugin found by its entry point."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path
from typing import Any

import pytest
from scripted_server import ScriptedServer, ok, server

from meta_tui.runlog import read
from meta_tui.testing import Network, NetworkClosed, diff

ROOT = Path(__file__).parent.parent

__all__ = ["server"]
pytest_plugins = ["pytester"]

SUITE = """
import meta_tui

def test_asks(meta_tui_run):
    assert meta_tui_run("6 * 7?", model="local", base_url="URL", method="standard").answer == "42"
"""
FINAL = '>> FINAL ANSWER:\n"""\n42\n"""'
SLOW = ("textual-snapshot", "syrupy", "hypothesispytest", "anyio")
"""Plugins that these suites need not wait for."""

SCRIPTED = '''
import meta_tui, pytest

FINAL = '>> FINAL ANSWER:\\n"""\\nVALUE\\n"""'

def model(*replies):
    return meta_tui.ScriptedModel([*replies, FINAL])

@pytest.mark.meta_tui_cassette(method="standard")
def test_one(meta_tui_run):
    assert meta_tui_run("QUESTION", model=model()).answer == "VALUE"
'''


def scripted(question: str = "6 * 7?", answer: str = "42") -> str:
    return SCRIPTED.replace("QUESTION", question).replace("VALUE", answer)


@pytest.fixture(autouse=True)
def plain_suites(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Suites know neither our pyproject nor our environment; there is no key but one for our server."""
    for name in [n for n in os.environ if n.endswith("_API_KEY") or n.startswith("PYTEST_")]:
        monkeypatch.delenv(name)
    pytester.makeini("[pytest]\naddopts = -p no:cacheprovider\nasyncio_mode = auto\n")


def run(pytester: pytest.Pytester, *words: str, recording: bool = True) -> pytest.RunResult:
    """pytest on the suite; `recording` says whether pytest-recording is there."""
    absent = SLOW if recording else (*SLOW, "recording")
    without = [word for name in absent for word in ("-p", f"no:{name}")]
    return pytester.runpytest_subprocess(*without, *words)


def cassettes(pytester: pytest.Pytester) -> list[str]:
    return sorted(str(p.relative_to(pytester.path)) for p in pytester.path.rglob("*.jsonl"))


def suite(pytester: pytest.Pytester, text: str, name: str = "test_suite.py") -> None:
    (pytester.path / name).write_text(text)


@pytest.mark.parametrize("beside", [True, False], ids=["with pytest-recording", "without it"])
def test_it_records_from_a_server_and_replays_with_the_network_closed(
    pytester: pytest.Pytester, server: ScriptedServer, beside: bool
) -> None:
    server.default = ok(FINAL)
    suite(pytester, SUITE.replace("URL", server.url))
    missing = run(pytester, recording=beside)
    missing.assert_outcomes(failed=1)
    missing.stdout.fnmatch_lines(
        ["*there is no cassette *test_asks.jsonl; record it: pytest --meta-tui-record=once*"]
    )
    assert (server.count, cassettes(pytester)) == (0, [])

    words = ["--record-mode=once"] if beside else ["--meta-tui-record=once"]
    run(pytester, *words, recording=beside).assert_outcomes(passed=1)
    assert (server.count, cassettes(pytester)) == (1, ["cassettes/test_suite/test_asks.jsonl"])
    assert read(pytester.path / "cassettes/test_suite/test_asks.jsonl").started.origin == "live"

    suite(pytester, SUITE.replace("URL", server.url) + CLOSED + f"    reach('{server.url}')\n")
    run(pytester, recording=beside).assert_outcomes(passed=2)
    assert server.count == 1


CLOSED = """
import pytest, socket, sys, urllib.request

def reach(url):
    with pytest.raises(RuntimeError, match="the network is closed in this test"):
        urllib.request.urlopen(url + "/models", timeout=5)

@pytest.mark.meta_tui_cassette("test_asks")
def test_nothing_is_reached(meta_tui_run):
    assert meta_tui_run("6 * 7?", method="standard").answer == "42"  # model and address: from the cassette
    assert "litellm" not in sys.modules
"""


def test_our_option_wins_over_pytest_recordings_and_both_over_the_marker(pytester: pytest.Pytester) -> None:
    suite(pytester, scripted().replace('(method="standard")', '(method="standard", record="once")'))
    run(pytester, "--meta-tui-record=none", "--record-mode=all").assert_outcomes(failed=1)
    run(pytester, "--record-mode=none").assert_outcomes(failed=1)
    assert cassettes(pytester) == []
    run(pytester).assert_outcomes(passed=1)
    (path,) = cassettes(pytester)
    before = (pytester.path / path).read_text()
    run(pytester, "--record-mode=rewrite").assert_outcomes(passed=1)
    assert (pytester.path / path).read_text() != before  # the times, at least
    suite(pytester, scripted().replace('(method="standard")', '(method="standard", record="sometimes")'))
    odd = run(pytester)
    odd.assert_outcomes(errors=1)
    odd.stdout.fnmatch_lines(["*no record mode 'sometimes'; there are none, once, new_episodes, all*"])


OWN = """
import meta_tui, msgspec, pytest
from typing import ClassVar

class Poet(msgspec.Struct, frozen=True):
    id: ClassVar[str] = "poet"

    async def solve(self, run, question):
        prompt = f"You are a poet.\\nWrite about {question}.\\nSTYLE"
        texts = [(await run.ask([meta_tui.user(prompt), meta_tui.user(str(n))])).text for n in range(ASKS)]
        return meta_tui.Solution(texts[-1], "written")

def test_poem(meta_tui_run):
    model = meta_tui.ScriptedModel(["roses", "violets", "more", "more"])
    meta_tui_run("the sea", method=Poet(), model=model)
"""


def poet(style: str = "Use rhymes.", asks: int = 2) -> str:
    return OWN.replace("STYLE", style).replace("ASKS", str(asks))


def test_a_changed_prompt_fails_and_is_shown_as_a_diff(pytester: pytest.Pytester) -> None:
    suite(pytester, poet())
    run(pytester, "--meta-tui-record=once").assert_outcomes(passed=1)
    suite(pytester, poet("Use no rhymes."))
    changed = run(pytester)
    changed.assert_outcomes(failed=1)
    changed.stdout.re_match_lines(
        [
            r".*CassetteMiss: not recorded",
            r"E +--- recorded \(line \d+\)",
            r"E +\+\+\+ now",
            r"E +-Use rhymes\.",
            r"E +\+Use no rhymes\.",
            r"E +cassette .*test_poem\.jsonl",
            r"E +if this is as it should be, record anew: pytest --meta-tui-record=all 'test_suite.py::test_poem'",
        ]
    )
    run(pytester, "--meta-tui-record=all").assert_outcomes(passed=1)
    run(pytester).assert_outcomes(passed=1)


def test_a_changed_question_or_setting_is_shown_as_a_diff(pytester: pytest.Pytester) -> None:
    suite(pytester, scripted())
    run(pytester, "--meta-tui-record=once").assert_outcomes(passed=1)
    suite(pytester, scripted("6 * 8?"))
    changed = run(pytester)
    changed.assert_outcomes(failed=1)
    changed.stdout.re_match_lines([r"E +-question: 6 \* 7\?", r"E +\+question: 6 \* 8\?"])
    suite(pytester, scripted().replace('"6 * 7?",', '"6 * 7?", settings={"system": "You help."},'))
    changed = run(pytester)
    changed.assert_outcomes(failed=1)
    changed.stdout.re_match_lines([r"E +-setting system:$", r"E +\+setting system: You help\."])


def test_a_stale_cassette_fails_and_names_what_was_not_reached(pytester: pytest.Pytester) -> None:
    suite(pytester, poet(asks=3))
    run(pytester, "--meta-tui-record=once").assert_outcomes(passed=1)
    suite(pytester, poet(asks=2))
    for words in ([], ["--meta-tui-record=once"]):
        stale = run(pytester, *words)
        stale.assert_outcomes(failed=1)
        stale.stdout.re_match_lines([r"E +meta_tui.errors.(Difference|NotReached): .*", r"E +cassette .*"])


def test_a_damaged_cassette_is_named_with_what_to_do(pytester: pytest.Pytester) -> None:
    suite(pytester, scripted())
    run(pytester, "--meta-tui-record=once")
    cassette = pytester.path / "cassettes/test_suite/test_one.jsonl"
    cassette.write_text("")
    found = run(pytester, "--meta-tui-record=once")
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(
        [f"E*cassette {cassette}", "E*record anew: pytest --meta-tui-record=all 'test_suite.py::test_one'"]
    )
    run(pytester, "--meta-tui-record=all").assert_outcomes(passed=1)


def test_new_episodes_asks_for_what_is_missing_and_reports_what_it_drops(pytester: pytest.Pytester) -> None:
    suite(pytester, poet(asks=3))
    run(pytester, "--meta-tui-record=once").assert_outcomes(passed=1)
    suite(pytester, poet(asks=2))
    dropped = run(pytester, "--meta-tui-record=new_episodes")
    dropped.assert_outcomes(passed=1)
    dropped.stdout.re_match_lines(
        [
            r"=+ meta-tui: unused recordings =+",
            r"cassettes/test_suite/test_poem.jsonl: not used and dropped: line \d+, request 2 of span 'run'",
        ]
    )
    assert "unused recordings" not in run(pytester).stdout.str()
    suite(pytester, poet(asks=4))
    run(pytester, "--meta-tui-record=new_episodes").assert_outcomes(passed=1)
    log = read(pytester.path / "cassettes/test_suite/test_poem.jsonl")
    # two recorded, then the first two lines of the script for what was missing
    assert [e.reply.text for e in log.events if type(e).__name__ == "Replied"] == ["roses", "violets"] * 2


THREE = (
    scripted()
    + """
@pytest.mark.meta_tui_cassette("odd/na:me", method="standard")
@pytest.mark.parametrize("text", ["a/b", "a:b"])
def test_two(meta_tui_run, text):
    first = meta_tui_run(text, model=model())
    assert first.answer == meta_tui_run(text + "?", model=model()).answer

class TestGroup:
    pytestmark = pytest.mark.meta_tui_cassette(method="standard")

    @pytest.mark.parametrize("text", ["a/b", "a:b"])
    async def test_three(self, meta_tui_run, text):
        assert (await meta_tui_run.solve_async(text, model=model())).answer == "42"
        assert meta_tui_run(text, model=model()).answer == "42"  # even where a loop is running
""".replace(
        '@pytest.mark.meta_tui_cassette("odd/na:me", method="standard")\n',
        '@pytest.mark.meta_tui_cassette(method="standard")\n',
    )
)


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "xdist"])
def test_every_test_has_its_cassettes_and_unused_ones_are_reported_at_the_end(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    suite(pytester, THREE)
    run(pytester, "--meta-tui-record=once", *workers).assert_outcomes(passed=5)
    found = cassettes(pytester)
    assert len(found) == 1 + 2 * 2 + 2 * 2
    assert all(re.fullmatch(r"cassettes/test_suite/[\w.\[\]-]+\.jsonl", path) for path in found)
    quiet = run(pytester, "--meta-tui-unused=fail", *workers)
    quiet.assert_outcomes(passed=5)
    assert quiet.ret == 0
    assert "unused recordings" not in quiet.stdout.str()

    gone = THREE.replace("def test_one(", "def test_first(")
    suite(pytester, gone.replace('assert meta_tui_run("6 * 7?", model=model()).answer == "42"', "pass"))
    told = run(pytester, "--meta-tui-unused=fail", *workers)
    told.assert_outcomes(passed=5)
    assert told.ret == 1
    told.stdout.fnmatch_lines(
        ["*meta-tui: unused recordings*", "cassettes/test_suite/test_one.jsonl: no test uses it"]
    )
    assert told.stdout.str().count("no test uses it") == 1


NESTED = (
    scripted()
    + """
class TestOuter:
    class TestInner:
        def test_it(self, meta_tui_run):
            assert meta_tui_run("6 * 7, inside?", model=model()).answer == "42"

class TestInner:
    def test_it(self, meta_tui_run):
        assert meta_tui_run("6 * 7, outside?", model=model()).answer == "42"
"""
)


def test_classes_of_one_name_in_different_places_share_no_cassette(pytester: pytest.Pytester) -> None:
    suite(pytester, NESTED)
    run(pytester, "--meta-tui-record=once").assert_outcomes(passed=3)
    assert [Path(path).stem for path in cassettes(pytester)] == [
        "TestInner.test_it",
        "TestOuter.TestInner.test_it",
        "test_one",
    ]
    run(pytester).assert_outcomes(passed=3)


def test_a_selection_accuses_no_cassette_of_the_tests_that_were_left_out(pytester: pytest.Pytester) -> None:
    suite(pytester, THREE)
    run(pytester, "--meta-tui-record=once").assert_outcomes(passed=5)
    for words in (
        ["-k", "test_one"],
        ["test_suite.py::test_one"],
        ["--deselect", "test_suite.py::TestGroup"],
    ):
        assert "unused recordings" not in run(pytester, *words).stdout.str()


def test_a_marked_test_that_runs_nothing_leaves_its_cassette_unused(pytester: pytest.Pytester) -> None:
    """Marked alone, without the fixture; a test that is skipped or fails is not blamed for it."""
    suite(pytester, scripted())
    run(pytester, "--meta-tui-record=once").assert_outcomes(passed=1)
    bare = "import pytest, socket\n\n@pytest.mark.meta_tui_cassette\ndef test_one():\n"
    suite(
        pytester,
        bare + "    with pytest.raises(RuntimeError):\n        socket.create_connection(('127.0.0.1', 9))\n",
    )
    told = run(pytester)
    told.assert_outcomes(passed=1)
    assert told.ret == 0  # a report unless --meta-tui-unused=fail
    told.stdout.fnmatch_lines(["cassettes/test_suite/test_one.jsonl: its test passed without a run"])
    suite(pytester, bare + "    pytest.skip('not today')\n")
    assert "unused recordings" not in run(pytester).stdout.str()


def test_a_recording_that_goes_wrong_leaves_what_was_there(pytester: pytest.Pytester) -> None:
    suite(pytester, scripted())
    run(pytester, "--meta-tui-record=once").assert_outcomes(passed=1)
    path = pytester.path / cassettes(pytester)[0]
    before = path.read_bytes()
    suite(pytester, scripted().replace("[*replies, FINAL]", "[meta_tui.CallFailed('rate_limit', 'slow')]"))
    failed = run(pytester, "--meta-tui-record=all")
    failed.assert_outcomes(failed=1)
    failed.stdout.fnmatch_lines(
        ["*RecordError: *test_one.jsonl was not recorded: the run ended failed (rate_limit)*"]
    )
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    path.unlink()
    run(pytester, "--meta-tui-record=once").assert_outcomes(failed=1)
    assert list(path.parent.iterdir()) == []


def test_a_replay_depends_on_no_setting_of_the_machine(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("META_TUI_TEMPERATURE", "0.7")
    monkeypatch.setenv("META_TUI_MODEL", "openai/whatever")
    monkeypatch.setenv("META_TUI_METHOD", "mc2")
    suite(
        pytester,
        scripted()
        .replace('(method="standard")', '("named", settings={"rounds": 5})')
        .replace(", model=model()", ""),
    )
    script = pytester.path / "script.txt"
    script.write_text('{"text": ">> FINAL ANSWER:\\n\\"\\"\\"\\n42\\n\\"\\"\\""}\n')
    monkeypatch.setenv("META_TUI_MODEL", f"script:{script}")
    run(pytester, "--meta-tui-record=once").assert_outcomes(passed=1)
    log = read(pytester.path / "cassettes/test_suite/named.jsonl")
    assert (log.started.method, log.started.params.temperature) == ("meta_prompting", 0.7)
    for name in ("META_TUI_TEMPERATURE", "META_TUI_MODEL", "META_TUI_METHOD"):
        monkeypatch.delenv(name)
    run(pytester).assert_outcomes(passed=1)


def test_the_folder_can_be_chosen_and_the_marker_allows_hosts(
    pytester: pytest.Pytester, server: ScriptedServer
) -> None:
    suite(
        pytester,
        scripted().replace('(method="standard")', '(method="standard", allow_hosts=["127.0.0.1"])')
        + f"    import urllib.request\n    urllib.request.urlopen('{server.url}/models', timeout=5).read()\n"
        + "\n@pytest.fixture(scope='module')\ndef meta_tui_cassette_dir(pytestconfig):\n"
        + "    return pytestconfig.rootpath / 'kept'\n",
    )
    run(pytester, "--meta-tui-record=once").assert_outcomes(passed=1)
    assert cassettes(pytester) == ["kept/test_one.jsonl"]
    path = pytester.path / "kept" / "test_one.jsonl"
    path.with_name("other.jsonl").write_bytes(path.read_bytes())
    told = run(pytester)
    told.assert_outcomes(passed=1)
    told.stdout.fnmatch_lines(["kept/other.jsonl: no test uses it"])
    assert len(server.requests) == 2
    # modules that were left out may have tests for what stands in a folder that all share
    assert "unused recordings" not in run(pytester, "test_suite.py").stdout.str()


def test_a_suite_that_does_not_ask_for_it_pays_and_sees_nothing(pytester: pytest.Pytester) -> None:
    """Only the plugin's own module is imported, and it imports nothing of ours."""
    suite(
        pytester,
        "import sys\n\ndef test_light():\n"
        "    ours = {m for m in sys.modules if m.partition('.')[0] == 'meta_tui'}\n"
        "    assert ours == {'meta_tui', 'meta_tui.pytest_plugin'}\n"
        "    assert not {'msgspec', 'litellm', 'diskcache'} & set(sys.modules)\n",
    )
    plain = run(pytester, recording=False)
    plain.assert_outcomes(passed=1)
    assert plain.stdout.str().count("meta-tui") == 1  # in pytest's own list of plugins
    helped = run(pytester, "--markers")
    helped.stdout.fnmatch_lines(["@pytest.mark.meta_tui_cassette(name=None, *, record=None*"])


def test_sockets_are_closed_and_what_was_there_before_comes_back() -> None:
    before = {name: getattr(socket.socket, name) for name in Network.METHODS}
    look_ups = {name: getattr(socket, name) for name in Network.LOOKUPS}
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = listening.getsockname()
        with Network() as network:
            for reach in (socket.socket.connect, socket.socket.connect_ex):
                with socket.socket() as one, pytest.raises(NetworkClosed, match=r"127\.0\.0\.1"):
                    reach(one, address)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one, pytest.raises(NetworkClosed):
                one.sendto(b"x", ("192.0.2.1", 9))
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one, pytest.raises(NetworkClosed):
                one.sendmsg([b"x"], [], 0, ("192.0.2.1", 9))
            with pytest.raises(NetworkClosed, match=r"example\.invalid"):
                socket.getaddrinfo("example.invalid", 80)
            for look_up in (socket.gethostbyname, socket.gethostbyname_ex, socket.gethostbyaddr):
                with pytest.raises(NetworkClosed, match=r"example\.invalid"):
                    look_up("example.invalid")
            assert socket.getaddrinfo("localhost", 80)
            pair: Any = socket.socketpair()
            assert pair[0].sendmsg((b"x",)) == 1
            for end in pair:
                end.close()
            with network.opened():
                socket.create_connection(address, 5).close()
            with pytest.raises(NetworkClosed):
                socket.create_connection(address, 5)
        with Network(["127.0.0.1"]):
            socket.create_connection(address, 5).close()
        socket.create_connection(address, 5).close()
    assert {name: getattr(socket, name) for name in Network.LOOKUPS} == look_ups
    assert {name: getattr(socket.socket, name) for name in Network.METHODS} == before


def test_a_diff_is_cut_where_it_is_long() -> None:
    assert diff("a\nb", "a\nb", "x", "y") == ""
    assert diff("a\nb", "a\nc", "x", "y") == "--- x\n+++ y\n@@ -1,2 +1,2 @@\n a\n-b\n+c"
    long = diff("", "\n".join(map(str, range(1000))), "x", "y").split("\n")
    assert len(long) == 201
    assert long[-1] == "... 804 more lines"


def test_the_example_of_the_readme_records_and_replays(
    pytester: pytest.Pytester, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Use it in your tests")[2]
    example = re.search(r"```python\n(.*?)```", readme, re.DOTALL)
    assert example
    suite(pytester, example.group(1))
    server.default = ok(FINAL)
    monkeypatch.setenv("META_TUI_BASE_URL", server.url)
    run(pytester, "--meta-tui-record=once").assert_outcomes(passed=2)
    assert server.count == 2
    monkeypatch.delenv("META_TUI_BASE_URL")
    replayed = run(pytester, "--meta-tui-unused=fail", "-W", "error")
    replayed.assert_outcomes(passed=2)
    assert replayed.ret == 0
    assert server.count == 2
