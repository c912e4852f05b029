"""The README's pictures are what the app shows."""

from __future__ import annotations

import pictures
import pytest


@pytest.mark.parametrize("name", list(pictures.PICTURES))
async def test_a_picture_is_what_the_app_shows_and_asks_for_nothing(name: str) -> None:
    """`python tests/tui/pictures.py` writes them anew."""
    shipped = (pictures.FOLDER / name).read_text(encoding="utf-8")
    assert await pictures.make(name) == shipped
    assert "url(" not in shipped.replace("url(#", "")
    assert "@import" not in shipped
