"""`meta-tui serve` in headless Chromium: the app is drawn there, plays, and asks nobody else."""

import asyncio
import base64
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

aiohttp = pytest.importorskip("aiohttp", reason="needs the extra `web`")
pytest.importorskip("textual_serve", reason="needs the extra `web`")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium")

SERVE = "import sys; from meta_tui.cli import main; sys.exit(main(sys.argv[1:]))"
OWN = ("127.0.0.1", "localhost")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Tab:
    """A page of the browser, spoken to over its debugging socket."""

    def __init__(self, channel):
        self.channel, self.number, self.seen = channel, 0, []

    async def do(self, method, **arguments):
        self.number += 1
        await self.channel.send_json({"id": self.number, "method": method, "params": arguments})
        while True:
            message = await self.channel.receive_json(timeout=30)
            if message.get("id") == self.number:
                return message.get("result", message)
            self.seen.append(message)

    async def wait(self, seconds):
        end = asyncio.get_running_loop().time() + seconds
        while (left := end - asyncio.get_running_loop().time()) > 0:
            try:
                self.seen.append(await self.channel.receive_json(timeout=left))
            except TimeoutError:
                return

    async def key(self, key, code):
        for kind in ("keyDown", "keyUp"):
            await self.do(
                "Input.dispatchKeyEvent", type=kind, key=key, code=code, text="\r" if key == "Enter" else key,
                windowsVirtualKeyCode=13 if key == "Enter" else ord(key[0].upper()),
            )  # fmt: skip

    async def until(self, words, seconds=40):
        for _ in range(seconds):
            if words in self.received():
                return
            await self.wait(1)
        raise AssertionError(f"never showed {words}")

    async def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            await self.do("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        await self.wait(1)

    def urls(self):
        asked = [m["params"] for m in self.seen if m.get("method") == "Network.requestWillBeSent"]
        return {one["request"]["url"] for one in asked}

    def errors(self):
        logged = [m["params"]["entry"] for m in self.seen if m.get("method") == "Log.entryAdded"]
        thrown = [m for m in self.seen if m.get("method") == "Runtime.exceptionThrown"]
        return [entry for entry in logged if entry["level"] == "error"], thrown

    def received(self):
        frames = [m["params"] for m in self.seen if m.get("method") == "Network.webSocketFrameReceived"]
        data = [frame["response"]["payloadData"] for frame in frames]
        return b"".join(_decoded(text) for text in data).decode("utf-8", "replace")


def _decoded(text):
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return text.encode()


async def tab_of(session, port):
    for _ in range(100):
        try:
            async with session.get(f"http://127.0.0.1:{port}/json") as answer:
                pages = [page for page in await answer.json() if page["type"] == "page"]
        except aiohttp.ClientError:
            pages = []
        if pages:
            return Tab(await session.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=0))
        await asyncio.sleep(0.2)
    raise AssertionError("the browser never listened")


async def browsed(address, profile, picture):
    port = free_port()
    browser = subprocess.Popen(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-allow-origins=*",
         "--disable-background-networking", f"--user-data-dir={profile}", f"--remote-debugging-port={port}",
         "--window-size=1300,820", "about:blank"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async with aiohttp.ClientSession() as session:
            tab = await tab_of(session, port)
            for domain in ("Network", "Log", "Runtime", "Page"):
                await tab.do(f"{domain}.enable")
            await tab.do("Page.navigate", url=address)
            await tab.until("Quit")
            await tab.click(200, 45)
            await tab.key("Enter", "Enter")
            await tab.until("PLAYBACK")
            await tab.key("$", "Digit4")
            await tab.until("at the end")
            await tab.wait(2)
            shot = await tab.do("Page.captureScreenshot")
            picture.write_bytes(base64.b64decode(shot["data"]))
            return tab
    finally:
        browser.terminate()
        browser.wait(20)


@pytest.mark.timeout(180)
def test_a_recorded_run_plays_in_a_browser_that_asks_nobody_else(tmp_path):
    served = subprocess.Popen(
        [sys.executable, "-c", SERVE, "serve", "--port", str(free_port())],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        address = re.search(r"http://\S+", served.stdout.readline()).group()
        picture = Path(tmp_path / "served.png")
        tab = asyncio.run(browsed(address, tmp_path / "profile", picture))
    finally:
        served.terminate()
        served.wait(20)
    shown = tab.received()
    assert "game24-python" in shown
    assert "PLAYBACK" in shown
    assert "answered" in shown
    assert {urlsplit(url).hostname for url in tab.urls() if url.startswith("http")} <= set(OWN)
    assert tab.errors() == ([], [])
    assert any(url.endswith("/css/xterm.css") for url in tab.urls())
    assert picture.stat().st_size > 30_000
    print(picture)
