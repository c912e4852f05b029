"""Colours: own dark and light themes with tested contrast, and the terminal's own sixteen.

Only names and values. States are never told by colour alone (`words` has their glyphs), so these
may be changed freely as long as the contrast test holds.
"""

from __future__ import annotations

from textual.theme import BUILTIN_THEMES, Theme

_DARK = {
    "run": "#56B4E9",
    "done": "#19B98A",
    "fail": "#F0763A",
    "hit": "#D98CB8",
    "wait": "#E69F00",
    "quiet": "#9A9A9A",
    "line": "#6A6A6A",
    "head": "#E8D9A0",
}
_LIGHT = {
    "run": "#005A8C",
    "done": "#00664A",
    "fail": "#A34700",
    "hit": "#8F3F73",
    "wait": "#7A5400",
    "quiet": "#5C5C5C",
    "line": "#808080",
    "head": "#4A3C00",
}
_ANSI = {
    "run": "ansi_cyan",
    "done": "ansi_green",
    "fail": "ansi_red",
    "hit": "ansi_magenta",
    "wait": "ansi_yellow",
    "quiet": "ansi_default",
    "line": "ansi_default",
    "head": "ansi_default",
}


def _theme(name: str, ink: str, paper: tuple[str, str, str], own: dict[str, str], *, dark: bool) -> Theme:
    background, surface, panel = paper
    ansi = name.endswith("ansi")
    given = BUILTIN_THEMES["ansi-dark"].variables if ansi else {}
    return Theme(
        name=name,
        primary=own["run"],
        secondary=own["quiet"],
        warning=own["wait"],
        error=own["fail"],
        success=own["done"],
        accent=own["run"],
        foreground=ink,
        background=background,
        surface=surface,
        panel=panel,
        boost=panel,
        dark=dark,
        ansi=ansi,
        variables={**given, **own, "border": own["run"], "border-blurred": own["line"]},
    )


THEMES: dict[str, Theme] = {
    theme.name: theme
    for theme in (
        _theme("meta-dark", "#E4E4E4", ("#121212", "#121212", "#262626"), _DARK, dark=True),
        _theme("meta-light", "#1A1A1A", ("#FFFFFF", "#FFFFFF", "#E6E6E6"), _LIGHT, dark=False),
        _theme(
            "meta-ansi", "ansi_default", ("ansi_default", "ansi_default", "ansi_default"), _ANSI, dark=True
        ),
    )
}
"""Name -> theme; `meta-dark` is the default."""

DEFAULTS: dict[str, str] = _DARK
"""Our variables for themes that do not have them."""
