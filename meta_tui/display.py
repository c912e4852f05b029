"""Text from models made safe to show: nothing in it can steer a terminal or hide from a reader.

Pure functions from text to text, used alike by the plain output, the command line and the app.
They make a copy for the eye only: what is stored and sent stays as it is. What this is not: no
colours, no markup, no widths in cells, and no secret is scrubbed here.

Every function is linear in the length of its text, and all map one character to one character
(but for `\\r\\n`, which becomes `\\n`), so a text may be cleaned piece by piece as it streams in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
NEWLINE_SYMBOL = "\N{SYMBOL FOR NEWLINE}"
ELLIPSIS = "…"

_BIDI = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_ANNOTATION = (0xFFF9, 0xFFFA, 0xFFFB)
_TAGS = range(0xE0000, 0xE0080)
_SURROGATES = range(0xD800, 0xE000)
_PICTURES = {code: chr(0x2400 + code) for code in range(0x20) if code not in (0x09, 0x0A)}
_VISIBLE: dict[int, str] = {
    **_PICTURES,
    0x7F: "\N{SYMBOL FOR DELETE}",
    0x2028: NEWLINE_SYMBOL,
    0x2029: NEWLINE_SYMBOL,
    **dict.fromkeys([*range(0x80, 0xA0), *_BIDI, *_ANNOTATION, *_TAGS, *_SURROGATES], REPLACEMENT),
}
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_INVISIBLE: dict[int, str] = {
    0x09: "→",
    0xA0: "⍽",
    0xAD: "‧",
    0x034F: "‧",
    0x115F: "‧",
    0x1160: "‧",
    0x3164: "‧",
    0xFEFF: "‧",
    **dict.fromkeys([*range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000], "⍽"),
    **dict.fromkeys([*range(0x200B, 0x200E), *range(0x2060, 0x2065), *range(0x206A, 0x2070)], "‧"),
}
_LETTERS = {
    "-": "─╌–—−┄",
    "|": "│┃▏",
    "+": "╭╮╰╯┌┐└┘├┤┬┴┼◆",
    "#": "█■",
    ":": "▒",
    "%": "▓",
    "*": "●▪",
    "o": "○•",
    "O": "◉",
    ".": "·",
    "v": "✓",
    "x": "✗×",
    "!": "▲",
    ">": "▸▶»→›≥",
    "<": "◀←≤",
    "=": "◇‖━",
    "~": "…",
    " ": "⍽\xa0",
}
_TO_LETTERS = str.maketrans({sign: letter for letter, signs in _LETTERS.items() for sign in signs})
_NO_LETTER = re.compile("[^\x00-\x7f]")
COERCED = ("C.UTF-8", "C.utf8", "UTF-8")
"""What Python itself puts into LC_CTYPE where the locale is C."""

_SPACE = re.compile(r"\s+")


def clean(text: str) -> str:
    """`text` with everything that a terminal would obey shown as a symbol instead.

    C0 controls become their control pictures (ESC is ␛), C1 controls, bidirectional controls,
    tag characters and lone surrogates become U+FFFD, Unicode line separators become ␤. Tab and
    newline stay. A text without such characters is given back as it is.
    """
    if "\r\n" in text:
        text = text.replace("\r\n", "\n")
    return text.translate(_VISIBLE) if _UNSAFE.search(text) else text


def marked(text: str) -> str:
    """`clean`, and characters that print nothing or look like a space are marked as well: for
    a view whose purpose is to show exactly what was sent."""
    return clean(text).translate(_INVISIBLE)


def one_line(text: str, limit: int = 120) -> str:
    """The start of a text on one line of at most `limit` characters: runs of white space become
    one space, controls are made visible, a cut is shown by an ellipsis."""
    head = text[: 4 * limit + 4]
    line = _SPACE.sub(" ", clean(head)).strip()
    if len(line) > limit or (len(head) < len(text) and text[len(head) :][: 4 * limit].strip()):
        return line[: max(0, limit - 1)] + ELLIPSIS
    return line


def table(rows: Iterable[Iterable[str]], head: Iterable[str]) -> str:
    """A text table with aligned columns, without a trailing newline."""
    lines = [list(head), *([clean(cell).replace("\n", " ") for cell in row] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def letters(text: str) -> str:
    """`text` in ASCII, character by character: our own signs become letters of their own, everything
    else a question mark. For terminals whose locale is not UTF-8."""
    return text if text.isascii() else _NO_LETTER.sub("?", text.translate(_TO_LETTERS))


def speaks_unicode(environ: Mapping[str, str]) -> bool:
    """Whether the locale is UTF-8, or nothing is said about it."""
    given = [environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(name)]
    if not environ.get("LC_ALL") and environ.get("LC_CTYPE") in COERCED:
        given = [environ.get("LANG") or given[0]]
    return not given or "utf" in given[0].lower()


def dollars(cost: float | None) -> str:
    """`$0.0410`, from a hundred dollars on `$123.45`, `$0` for nothing; "-" where a price is unknown."""
    if not cost:
        return "-" if cost is None else "$0"
    return f"${cost:.4f}" if cost < 100 else f"${cost:,.2f}"


def count(number: int, what: str, many: str = "") -> str:
    """`1 call`, `2 calls`, `1,000 replies`."""
    return f"{number:,} {what if number == 1 else many or what + 's'}"
