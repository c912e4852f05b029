"""Checkmate in one: the move that mates in the position after a game.

`paper` looks for the target's text in the answer, after cutting the answer where the next move
number stands. `strict` replays the game and asks the rules of chess: the answer commits to one
legal move, in any usual notation, and that move mates. The rules come from the optional library
`chess` (GPL-3.0 or later), which only this module and the generator import; without it the verdict
is `error`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from meta_tui.tasks import Grade, Sample
from meta_tui.tasks.grading.extraction import (
    abstains,
    correct,
    incorrect,
    is_negated,
    paper_answer,
    paper_grade,
    strictly,
)

MISSING = "grading chess needs the library chess: pip install 'meta-tui[graders]'"

_FIGURINES = str.maketrans("♔♕♖♗♘♚♛♜♝♞", "KQRBNKQRBN", "♙♟")
_DASHES = str.maketrans("–—‐‑−×✕", "-----xx")
_MOVE = re.compile(
    r"(?<![A-Za-z0-9/])(?:"
    r"(?P<castle>[O0o]-[O0o](?:-[O0o])?)"
    r"|(?P<piece>[KQRBNP])?(?P<file>[a-h])?(?P<rank>[1-8])?(?P<join>[x:-])?(?P<to>[a-h][1-8])"
    r"(?:(?:\s?=\s?|\()?(?P<promotion>[QRBNqrbn])\)?(?![A-Za-z0-9]))?"
    r")(?:\s?e\.p\.)?(?P<end>[+#‡†!?]*)(?![A-Za-z0-9])"
)
_NUMBERED = re.compile(r"\d{1,3}\s?(?:\.{1,3}|…)\s?(?:\.{2,3}|…)?\s*$")
_LEAD = re.compile(
    r"(?:(?:play|playing|the|move|moving)[\s*_`\"'(:]+)*(?:\d{1,3}\s?[.…]{1,3}\s?[.…]{0,3}\s*)?$"
)
_KIND = r"(?:\w+\s+){0,2}?"
_NO_MATE = re.compile(
    rf"\bno\s+{_KIND}(?:check)?mate|\bno\s+{_KIND}moves?\s+(?:\w+\s+){{0,5}}?(?:check)?mate"
    r"|(?:\bnot|\bn't)\s+(?!(?:\w+\s+){0,2}(?:avoid|escape|prevent|stop|delay))(?:\w+\s+){0,4}?(?:check)?mate"
    r"|\b(?:impossible|unable|cannot)\s+(?:to\s+)?(?:deliver|give|force|achieve|find|determine|(?:check)?mate)",
    re.IGNORECASE,
)
_GAME_NUMBER = re.compile(r"^\d+\.+$|^\d+\.+(?=\S)")


@dataclass(frozen=True, slots=True)
class Move:
    """A move as an answer writes it, and the legal moves that fit; `bare` is a square alone."""

    text: str
    fits: tuple[Any, ...]
    bare: bool


def paper(sample: Sample, reply: str) -> Grade:
    """The target is a substring of what stands before the next move number."""
    answer = paper_answer(reply)
    cut = _before_next_number(answer, sample.input)
    return paper_grade(sample.target.lower() in cut, cut)


def _before_next_number(answer: str, game: str) -> str:
    pieces = game.split(".")
    last = pieces[-2].split() if len(pieces) > 1 else []
    if not last or not last[-1].isdigit():
        return answer
    number = str(int(last[-1]) + 1)
    return answer.split(number)[0].strip() if number in answer else answer


def _judge(sample: Sample, answer: str) -> Grade:
    try:
        board = board_after(sample.input)
    except ImportError:
        return Grade("error", MISSING)
    except ValueError as error:
        return Grade("error", f"the game of {sample.id} cannot be replayed: {error}")
    moves = _committed(_without_recalled(moves_in(answer, board), sample.input))
    if not moves:
        return _without_move(answer)
    if _says_no_mate(answer):
        return Grade("abstained", "says that there is no mate", moves[0].text)
    first = moves[0]
    if not first.fits:
        return incorrect(first.text, f"{first.text} is not legal here")
    if len(first.fits) > 1:
        return incorrect(first.text, f"{first.text} could be {len(first.fits)} moves")
    others = [move.text for move in moves if move.fits != first.fits]
    if others:
        return incorrect(first.text, f"goes on with {others[0]}; one move is asked for")
    board.push(first.fits[0])
    if board.is_checkmate():
        return correct(first.text)
    return incorrect(first.text, f"{first.text} does not mate")


def _without_move(answer: str) -> Grade:
    if abstains(answer) or _says_no_mate(answer):
        return Grade("abstained", "says that there is no mate", answer[:200])
    return incorrect(answer[:200], "no move in the answer")


def _says_no_mate(answer: str) -> bool:
    found = _NO_MATE.search(answer.replace("’", "'").replace("n't", " n't"))
    return found is not None


def board_after(game: str) -> Any:
    """The position after a game in SAN with move numbers.

    Raises:
        ImportError: the library chess is not installed.
        ValueError: a move of the game is not legal.
    """
    return _board_after(game).copy(stack=False)


@lru_cache(maxsize=512)
def _board_after(game: str) -> Any:
    import chess

    board = chess.Board()
    for token in played(game):
        board.push_san(token)
    return board


def played(game: str) -> list[str]:
    """The moves of a game, without numbers."""
    tokens = (_GAME_NUMBER.sub("", token) for token in game.split())
    return [token for token in tokens if token]


def moves_in(answer: str, board: Any) -> list[Move]:
    """Every move that an answer names and does not rule out, in order.

    SAN, long algebraic and UCI; `x`, `+`, `#` and move numbers are optional.
    """
    text = answer.translate(_FIGURINES).translate(_DASHES)
    found = []
    for match in _MOVE.finditer(text):
        if is_negated(text, _start(text, match.start()), match.end()):
            continue
        bare = match.group().strip("!?") == (match["to"] or "") and not _NUMBERED.search(
            text[: match.start()][-12:]
        )
        found.append(Move(match.group().strip(), tuple(_fitting(match, board)), bare))
    return found


def _start(text: str, start: int) -> int:
    """Where a move begins with its lead: `not play 41. Qh7#` rules out Qh7."""
    before = text[max(0, start - 40) : start]
    lead = _LEAD.search(before)
    return start - (len(before) - lead.start()) if lead else start


def _fitting(match: re.Match[str], board: Any) -> list[Any]:
    import chess

    if match["castle"]:
        wanted = (
            board.is_queenside_castling if match["castle"].count("-") == 2 else board.is_kingside_castling
        )
        return [move for move in board.legal_moves if board.is_castling(move) and wanted(move)]
    to = chess.parse_square(match["to"])
    promotion = chess.PIECE_SYMBOLS.index(match["promotion"].lower()) if match["promotion"] else None
    fits = [m for m in board.legal_moves if m.to_square == to and m.promotion == promotion]
    return [m for m in fits if _from_fits(match, board, m)]


def _from_fits(match: re.Match[str], board: Any, move: Any) -> bool:
    import chess

    square = chess.square_name(move.from_square)
    if (match["file"] or square[0]) != square[0] or (match["rank"] or square[1]) != square[1]:
        return False
    full = match["file"] and match["rank"]
    if match["piece"] is None and full:
        return True
    letter = board.piece_at(move.from_square).symbol().upper()
    return bool(letter == (match["piece"] or "P"))


def _committed(moves: list[Move]) -> list[Move]:
    """A square alone (`the rook goes to g5`) is a pawn's move only where nothing else is named."""
    named = [move for move in moves if not move.bare]
    return named or moves


def _without_recalled(moves: list[Move], game: str) -> list[Move]:
    """An answer may repeat the end of the game before its move: `31. Kf5 Rg5#`."""
    history = [_core(token) for token in played(game)]
    for count in range(min(len(moves) - 1, len(history)), 0, -1):
        if [_core(move.text) for move in moves[:count]] == history[-count:]:
            return moves[count:]
    return moves


def _core(move: str) -> str:
    return re.sub(r"[^A-Za-z0-9-]|[x:]", "", move)


strict = strictly(_judge)
"""One legal move, in any usual notation, that mates."""
