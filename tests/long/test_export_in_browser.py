"""The exported page in headless Chromium: no error in its console, no request, all its words."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tui"))

from tui_hostile import SHORT, events_with

from meta_tui import runlog, store
from meta_tui.exchange import html, story

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
BROWSERS_OWN = {
    "update.googleapis.com",
    "clients2.google.com",
    "clients2.googleusercontent.com",
    "redirector.gvt1.com",
    "accounts.google.com",
    "optimizationguide-pa.googleapis.com",
    "content-autofill.googleapis.com",
    "safebrowsing.googleapis.com",
    "www.google.com",
    "android.clients.google.com",
    "mtalk.google.com",
}
"""Hosts that the browser asks for itself, whatever page is open."""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium")


def browsed(page, tmp_path, *more, event=""):
    """What the browser made of a page: the document, its console, its network log."""
    file = tmp_path / "page.html"
    file.write_text(page, encoding="utf-8")
    net = tmp_path / "net.json"
    arguments = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
        "--disable-component-update", "--no-first-run", f"--user-data-dir={tmp_path / 'profile'}",
        "--enable-logging=stderr", "--v=0", "--virtual-time-budget=3000", f"--log-net-log={net}",
        *more, "--dump-dom", f"{file.as_uri()}{event}",
    ]  # fmt: skip
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=90, check=False)
    console = [line for line in done.stderr.split("\n") if "CONSOLE" in line]
    urls = set(re.findall(r'"url":"((?:https?|wss?|ftp)://[^"]*)"', net.read_text()))
    return done.stdout, console, {url for url in urls if urlsplit(url).hostname not in BROWSERS_OWN}


def page_of(name):
    path = store.shipped("cassettes") / f"{name}.jsonl"
    return html.page(story.tell(runlog.read(path).events, name))


@pytest.mark.parametrize("name", ["game24-python", "seats-corrected", "squares-round-limit"])
def test_a_page_opens_without_an_error_and_without_a_request(name, tmp_path):
    document, console, urls = browsed(page_of(name), tmp_path)
    assert console == []
    assert urls == set()
    recording = runlog.read(store.shipped("cassettes") / f"{name}.jsonl")
    words = re.sub(r"<[^>]+>", "", document)
    assert recording.started.question.split("\n")[0][:40] in words
    if recording.answer:
        assert "ANSWER" in words


def test_a_request_of_a_page_would_be_seen(tmp_path):
    """The check can fail: an image from elsewhere is refused by the policy and seen without it."""
    page = page_of("game24-python").replace("</main>", '</main><img src="http://127.0.0.1:9/x.png">')
    _, console, urls = browsed(page, tmp_path)
    assert console
    assert urls == set()
    bare = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    _, _, urls = browsed(bare, tmp_path)
    assert "http://127.0.0.1:9/x.png" in urls


def test_a_moment_can_be_linked_to(tmp_path):
    document, console, _ = browsed(page_of("game24-python"), tmp_path, event="#event=5")
    assert console == []
    assert re.search(r'id="where"[^>]*>[^<]*event 5/', document)
    assert document.count('hidden=""') > 5


def test_hostile_text_is_text(tmp_path):
    text = SHORT.encode("utf-8", "replace").decode() + "</script><img src=x onerror=document.title='owned'>"
    document, console, urls = browsed(html.page(story.tell(events_with(text), text[:40])), tmp_path)
    assert console == []
    assert urls == set()
    assert "<title>owned" not in document
    assert "<img" not in document


def test_the_picture_of_a_page_is_not_empty(tmp_path):
    picture = tmp_path / "page.png"
    browsed(page_of("game24-python"), tmp_path, f"--screenshot={picture}", "--window-size=1300,900")
    assert picture.stat().st_size > 50_000


def test_the_data_is_the_story():
    data = re.search(r'<script id="data"[^>]*>(.*?)</script>', page_of("game24-python"), re.S).group(1)
    assert json.loads(data)["title"] == "game24-python"
