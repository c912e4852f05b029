"""Replay, playback and the core's import never touch the world: looked at from a process of its own."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from checkout import project
from scripted_runs import case_named, record

HEAVY = (
    "litellm",
    "textual",
    "rich",
    "diskcache",
    "RestrictedPython",
    "httpx",
    "aiohttp",
    "openai",
    "numpy",
    "sympy",
)

WATCHED = """
import asyncio, json, socket, sys
from pathlib import Path

reached = []
def refuse(name):
    def refused(*args, **more):
        reached.append(name)
        raise PermissionError(name)
    return refused
for name in ("connect", "connect_ex", "sendto", "bind", "listen"):
    setattr(socket.socket, name, refuse(name))
for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr", "getnameinfo"):
    setattr(socket, name, refuse(name))

{body}
print(json.dumps({{"reached": reached, "modules": sorted({{m.partition(".")[0] for m in sys.modules}})}}))
"""

BODIES = {
    "replay": """
from meta_tui.runlog import read
from meta_tui.sources import play, replay
recording = read(Path(sys.argv[1]))
play(recording, lambda event: None)
assert asyncio.run(replay(recording)).answer == "42"
""",
    "a miss": """
from meta_tui.errors import ReplayError
from meta_tui.methods import build
from meta_tui.runlog import read
from meta_tui.sources import replay
recording = read(Path(sys.argv[1]))
method = build("meta_prompting", recording.started.settings | {"feedback": "other"})
try:
    asyncio.run(replay(recording, method=method))
except ReplayError:
    pass
""",
    "record with a script": """
from meta_tui.methods import build
from meta_tui.models.scripted import ScriptedModel
from meta_tui.run import Doors
from meta_tui.sources import header, live
method = build("standard")
started = header(method, "q", model="m")
asyncio.run(live(method, started, Doors(ScriptedModel([">> FINAL ANSWER: 42"])), log=Path(sys.argv[1] + ".new")))
""",
    "list runs": """
from meta_tui.store import Index
assert len(Index(Path(sys.argv[1]).parent, Path(sys.argv[1] + ".sqlite")).summaries()) == 1
""",
}


def watched(body: str, log: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", WATCHED.format(body=body), str(log)],
        cwd=project(),
        env={"PATH": os.environ["PATH"], "META_TUI_HOME": str(log.parent / "home")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("what", BODIES)
def test_nothing_is_reached_and_nothing_heavy_imported(what: str, tmp_path: Path) -> None:
    """No socket connected or bound, no name looked up, no model library, no app."""
    log = tmp_path / "run.jsonl"
    record(case_named("python"), log)
    found = watched(BODIES[what], log)
    assert found["reached"] == []
    assert not set(HEAVY) & set(found["modules"])


def test_the_watch_sees_what_it_watches_for(tmp_path: Path) -> None:
    """A test that could not fail would say nothing."""
    log = tmp_path / "run.jsonl"
    body = """
import rich
try:
    socket.create_connection(("192.0.2.1", 80), timeout=1)
except PermissionError:
    pass
"""
    found = watched(body, log)
    assert found["reached"] == ["getaddrinfo"]
    assert "rich" in found["modules"]


def test_tests_themselves_reach_no_other_machine() -> None:
    """What conftest closes: connections, datagrams and look-ups; loopback stays open."""
    with pytest.raises(PermissionError, match="stay on this machine"):
        socket.create_connection(("192.0.2.1", 80), timeout=1)
    with pytest.raises(PermissionError):
        socket.getaddrinfo("example.invalid", 80)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams, pytest.raises(PermissionError):
        datagrams.sendto(b"x", ("192.0.2.1", 53))
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), timeout=5).close()


def test_tests_have_a_home_and_a_plain_environment_of_their_own(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    assert "NO_COLOR" not in os.environ
    assert Path(os.environ["META_TUI_HOME"]).is_relative_to(tmp_path_factory.getbasetemp())
    assert (os.environ["TZ"], os.environ["LC_ALL"]) == ("UTC", "C.UTF-8")
