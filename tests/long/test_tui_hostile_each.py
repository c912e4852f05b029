"""Each hostile text on each screen, and the run screen in a real terminal."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tui"))

from test_tui_hostile import SCREENS, assert_inert
from test_tui_terminal import WATCH, Terminal, assert_harmless
from tui_hostile import CORPUS
from tui_runs import FINAL, record


@pytest.mark.parametrize("text", CORPUS)
@pytest.mark.parametrize("name", SCREENS)
async def test_a_text_is_inert_on_a_screen(name, text):
    await assert_inert(name, CORPUS[text])


@pytest.mark.parametrize("name", CORPUS)
async def test_no_forbidden_byte_of_a_text_reaches_the_terminal(name, tmp_path):
    text = CORPUS[name].encode("utf-8", "replace").decode()
    path = tmp_path / "hostile.jsonl"
    replies = [f'Expert Poet:\n"""\n{text}\n"""', text or "-", FINAL.replace("(10 - 4) * 5 - 6", text)]
    await record(path, replies, (), question=text)
    shell = Terminal(WATCH, str(path))
    try:
        assert_harmless(shell)
    finally:
        shell.close()
