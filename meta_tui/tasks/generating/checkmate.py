"""Checkmate in one: games that noisy players play until the side to move has exactly one mate.

No games of real people. The rules of chess are the `chess` library's (GPL-3.0+, optional, imported
when a sample is made). The players grab what hangs, like checks and otherwise roll dice, so games
are short and material leaves the board about as fast as in the published set.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from meta_tui.errors import UsageError
from meta_tui.tasks import Sample
from meta_tui.tasks.generating import chance, make, within

WORTH = (0, 1, 3, 3, 5, 9, 4)
"""By piece type of the library: none, pawn, knight, bishop, rook, queen, king."""

KEPT = {"queen": 0.4, "bishop": 0.5, "knight": 0.3, "pawn": 0.3}
"""Shares of the mates by these pieces that are kept (of the others all): such players mate with
queens and light pieces more often than people do."""

FEWEST_MOVES = 5
"""A position with fewer legal moves is a poor question."""


@dataclass(frozen=True, slots=True)
class Found:
    """A position to ask about: the game so far and its mating moves in SAN, first the best known."""

    board: Any
    game: str
    mates: tuple[str, ...]
    piece: str
    checks: int


def generate(index: int, seed: int, *, mates: int = 1, shortest: int = 8, longest: int = 100) -> Sample:
    """A game in SAN up to a position with a mate in one, which is the target.

    Args:
        mates: mating moves of the position; with 2 or 3 any of them is right.
        shortest, longest: plies of the game.

    Raises:
        UsageError: an option is out of range, or the chess library is not installed.
    """
    within("mates", mates, 1, 3)
    within("shortest", shortest, 4, 200)
    within("longest", longest, shortest + 20, 400)
    chess = _library()
    rng = chance("checkmate", seed, index)
    while (found := _play(chess, rng, mates, shortest, longest)) is None:
        pass
    return make(
        "checkmate", index, seed, found.game, found.mates[0],
        kind=found.piece, difficulty=_difficulty(found), witness=found.mates[0], mates=list(found.mates),
        ply=found.board.ply(), legal=found.board.legal_moves.count(), fen=found.board.fen(),
    )  # fmt: skip


def _library() -> Any:
    try:
        import chess
    except ImportError as error:
        raise UsageError('checkmate needs the chess library: pip install "meta-tui[graders]"') from error
    return chess


def _difficulty(found: Found) -> str:
    return "easy" if found.checks == len(found.mates) else "medium" if found.checks <= 3 else "hard"


def _play(chess: Any, rng: random.Random, wanted: int, shortest: int, longest: int) -> Found | None:
    """One game; None where it never came to a position with so many mates."""
    board = chess.Board()
    words: list[str] = []
    while board.ply() <= longest:
        moves = list(board.legal_moves)
        checks = [move for move in moves if board.gives_check(move)]
        mating = [move for move in checks if _is_mate(board, move)]
        if len(mating) == wanted and board.ply() >= shortest and len(moves) >= FEWEST_MOVES:
            return _found(chess, rng, board, words, mating, len(checks))
        quiet = [move for move in moves if move not in mating]
        if not quiet or board.is_insufficient_material():
            return None
        move = _choose(board, rng, quiet, checks)
        words.append(board.san(move))
        board.push(move)
    return None


def _found(
    chess: Any, rng: random.Random, board: Any, words: list[str], mating: list[Any], checks: int
) -> Found | None:
    piece = chess.piece_name(board.piece_type_at(mating[0].from_square))
    if rng.random() > KEPT.get(piece, 1.0):
        return None
    sans = tuple(sorted(board.san(move) for move in mating))
    return Found(board, _numbered(words), sans, piece, checks)


def _is_mate(board: Any, move: Any) -> bool:
    board.push(move)
    mate: bool = board.is_checkmate()
    board.pop()
    return mate


def _choose(board: Any, rng: random.Random, moves: list[Any], checks: list[Any]) -> Any:
    """The move that looks best to a careless player, with some noise."""
    checking = set(checks)
    return max(moves, key=lambda move: _worth(board, move) + (move in checking) * 0.8 + rng.gauss(0, 1.2))


def _worth(board: Any, move: Any) -> float:
    """What the move wins less what it leaves hanging, in pawns."""
    taken = WORTH[board.piece_type_at(move.to_square) or 0]
    moved = WORTH[board.piece_type_at(move.from_square) or 0]
    risk = moved if board.is_attacked_by(not board.turn, move.to_square) else 0
    saved = moved if board.is_attacked_by(not board.turn, move.from_square) else 0
    return taken - 0.8 * risk + 0.6 * saved + (8 if move.promotion else 0)


def _numbered(words: list[str]) -> str:
    """`1. e4 e5 2. Nf3`; ends with `3.` where White is to move."""
    parts = []
    for place, word in enumerate(words):
        parts += [f"{place // 2 + 1}.", word] if place % 2 == 0 else [word]
    if len(words) % 2 == 0:
        parts.append(f"{len(words) // 2 + 1}.")
    return " ".join(parts)
