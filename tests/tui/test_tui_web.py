"""`serve`: this machine only, playback only, and no other site's page can reach it."""

import os
import socket

import pytest

aiohttp = pytest.importorskip("aiohttp")
pytest.importorskip("textual_serve", reason="needs the extra `web`")

from aiohttp import web as aiohttp_web  # noqa: E402
from tui_hostile import painted  # noqa: E402
from tui_runs import record  # noqa: E402

from meta_tui import store  # noqa: E402
from meta_tui.tui.app import MetaApp  # noqa: E402
from meta_tui.tui.origin import playback  # noqa: E402
from meta_tui.tui.screens.home import HomeScreen  # noqa: E402
from meta_tui.tui.screens.run import RunScreen  # noqa: E402
from meta_tui.tui.web import HOST, PlaybackServer, forget_keys  # noqa: E402


def free_port():
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


@pytest.fixture
async def served(run_log):
    server = PlaybackServer(run_log, free_port())
    runner = aiohttp_web.AppRunner(await server._make_app())
    await runner.setup()
    await aiohttp_web.TCPSite(runner, HOST, server.port).start()
    async with aiohttp.ClientSession() as client:
        yield server, client
    await runner.cleanup()


@pytest.mark.parametrize(
    ("host", "origin", "path", "answer"),
    [
        ("127.0.0.1:8765", None, "/t/", True),
        ("localhost:8765", None, "/t/static/js/textual.js", True),
        ("127.0.0.1:8765", "http://127.0.0.1:8765", "/t/ws", True),
        ("127.0.0.1:8765", "http://localhost:8765", "/t/ws", True),
        ("evil.example", None, "/t/", False),
        (None, None, "/t/", False),
        ("127.0.0.1:80", None, "/t/", False),
        ("127.0.0.1:8765", None, "/t/ws", False),
        ("127.0.0.1:8765", "http://evil.example", "/t/ws", False),
        ("127.0.0.1:8765", "null", "/t/ws", False),
        ("127.0.0.1:8765", "http://127.0.0.1:8765.evil.example", "/t/ws", False),
        ("127.0.0.1:8765", "http://evil.example", "/t/", False),
    ],
)
def test_which_requests_are_answered(host, origin, path, answer):
    assert PlaybackServer(None, 8765, "t").allowed(host, origin, path) is answer


async def test_the_page_is_under_a_secret_path_and_asks_nobody(served):
    server, client = served
    async with client.get(server.address) as reply:
        assert reply.status == 200
        assert "default-src 'none'" in reply.headers["Content-Security-Policy"]
        assert "googleapis" not in reply.headers["Content-Security-Policy"]
    for path in ("/", "/ws", "/static/js/textual.js", "/wrong/"):
        async with client.get(f"{server.public_url}{path}", headers={"Origin": server.public_url}) as reply:
            assert reply.status == 404
    assert len(server.token) >= 32


async def test_another_sites_page_opens_no_connection(served):
    server, client = served
    for headers in (
        {"Origin": "http://evil.example"},
        {"Host": "evil.example", "Origin": server.public_url},
        {},
    ):
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await client.ws_connect(f"{server.address}ws", headers=headers)
        assert refused.value.status == 403


async def test_a_browser_on_this_machine_sees_the_run(served):
    server, client = served
    async with client.ws_connect(
        f"{server.address}ws?width=100&height=30", headers={"Origin": server.public_url}
    ) as connection:
        seen = b""
        while b"PLAYBACK" not in seen:
            message = await connection.receive(timeout=30)
            assert message.type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT)
            seen += message.data if isinstance(message.data, bytes) else message.data.encode()


def test_keys_are_forgotten(monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "abcdef0123456789")
    monkeypatch.setenv("HOME_SWEET", "abcdef0123456789x")
    forget_keys()
    assert "SOME_API_KEY" not in os.environ
    assert "HOME_SWEET" in os.environ


async def test_what_is_served_asks_nothing_writes_nothing_and_shows_no_setting():
    await record(store.home().runs / "one.jsonl")
    app = MetaApp(lambda: HomeScreen(fetch=lambda: store.own_runs().summaries()), fps=0, playback_only=True)
    async with app.run_test(size=(120, 36)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        for key in ("a", "u", "R", "e", "comma"):
            await pilot.press(key)
            await pilot.pause()
            assert len(app.screen_stack) == 2
        await pilot.press("enter")
        await app.workers.wait_for_complete()
        await pilot.pause()
        await pilot.press("dollar_sign", "f", "Y", "i")
        await pilot.pause()
        await pilot.press("Y")
        await pilot.pause()
    assert not (store.home().root / "saved").exists()
    assert len(list(store.home().runs.iterdir())) == 1


async def test_a_page_that_only_plays_hints_at_no_key_that_it_refuses(run_log):
    for served in (False, True):
        app = MetaApp(lambda: HomeScreen([]), fps=0, playback_only=served)
        async with app.run_test(size=(120, 36)) as pilot:
            await pilot.pause()
            assert ("a Ask" in painted(app)) is ("Settings" in painted(app)) is (not served)
            assert "ctrl+q Quit" in painted(app)
            app.push_screen(RunScreen(playback(run_log), log=run_log, fps=0))
            await pilot.pause()
            assert ("f Fork" in painted(app)) is (not served)
