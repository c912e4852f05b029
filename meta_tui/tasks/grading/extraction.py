"""Finding the answer in a reply, before any grader looks at it.

Two ways. `paper_answer` is what the published evaluator takes: without its exact marker it grades
the whole text. `find_answer` is the strict one: no marker, no answer. Neither judges anything, and
neither is the live parser of a run (`meta_tui.protocol`), which decides when a dialogue ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from meta_tui.tasks import Grade, Sample

PAPER_MARKER = '>> FINAL ANSWER:\n"""'
QUOTES = '"""'
TEMPLATE = "[final answer]"

Judge = Callable[[Sample, str], Grade]
"""From a sample and the answer itself, already extracted, to a grade."""

# Gaps are bounded, so that a reply of spaces costs no more than its length.
_GAP = r"[ \t*_`#]{0,9}"
_MARKER = re.compile(rf">>{_GAP}final[ \t]{{1,9}}answer{_GAP}:[*_`]{{0,4}}", re.IGNORECASE)
_FENCE = re.compile(r"```[^\n`]*\n(.*?)(?:\n?[ \t]*```|\Z)", re.DOTALL)
_WHOLE_FENCE = re.compile(r"```[^\n`]*\n(.*?)\n?[ \t]*```", re.DOTALL)
_WRAPPED = re.compile(r"\\(?:boxed|fbox|text|textbf|mathrm|mathbf)\s{0,3}\{([^{}]*)\}")
_ABSTAINING = re.compile(
    r"\b(?:no (?:\w+ ){0,3}(?:solutions?|moves?|answers?|ways?|combinations?|expressions?|checkmates?|mates?)\b"
    r"|(?:not|n't) (?:\w+ ){0,3}(?:possible|exist|solvable|find|found|determine[d]?|able|solution)\b"
    r"|impossible\b|unsolvable\b|unable to\b|cannot\b|can't\b|could not\b|couldn't\b|none\b"
    r"|i apologi[sz]e\b|(?:i(?:'m| am) )?sorry\b)",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"(?:\bnot|n't|\bnever|\bneither|\bnor|\brather than|\binstead of|\binstead|≠|!=|=/=|\\neq?)"
    r"[\s*_`\"'(:]*(?:(?:the|a|an|by|be|is|as)[\s*_`\"'(:]+){0,3}$",
    re.IGNORECASE,
)
_REJECTED = re.compile(
    r"^[\s*_`\"')#+!,.]*(?:(?:is|was|are|would be|does|did|do|can|could|should|will|would)\s*(?:not|n't)\b|cannot\b)",
    re.IGNORECASE,
)


def paper_answer(reply: str, fold: bool = True) -> str:
    """The answer as the published evaluator takes it.

    After the last marker with opening quotes, up to the next triple quotes, stripped; the whole
    text where there is no such marker (published evaluator; a known flaw that is kept).

    Args:
        fold: lower-case first, as for every task but the programming puzzles.
    """
    text, marker = (reply.lower(), PAPER_MARKER.lower()) if fold else (reply, PAPER_MARKER)
    return text.rpartition(marker)[2].partition(QUOTES)[0].strip()


def find_answer(reply: str) -> str | None:
    """The answer after the last marker, stripped; None without a marker.

    The marker may be in any case and in bold. The answer stands in triple quotes (unclosed quotes
    run to the end), in a code fence, or runs to the end of the text. The template itself is an
    empty answer.
    """
    rest = behind_marker(reply)
    if rest is None:
        return None
    answer = _block(rest)
    return "" if answer.casefold().strip(" .\"'`*") == TEMPLATE else answer


def behind_marker(reply: str) -> str | None:
    """Everything behind the last marker, stripped; None without a marker."""
    ends = [found.end() for found in _MARKER.finditer(reply)]
    return reply[ends[-1] :].strip() if ends else None


def _block(rest: str) -> str:
    if rest.startswith(QUOTES):
        return _unfenced(_closed(rest[len(QUOTES) :]).strip())
    fence = _FENCE.match(rest)
    return fence.group(1).strip() if fence else rest


def _closed(text: str) -> str:
    """The text up to the closing quotes; of a longer run of quotes the last three close."""
    end = text.find(QUOTES)
    while end >= 0 and text.startswith('"', end + len(QUOTES)):
        end += 1
    return text if end < 0 else text[:end]


def _unfenced(block: str) -> str:
    whole = _WHOLE_FENCE.fullmatch(block)
    return whole.group(1).strip() if whole else block


def strictly(judge: Judge) -> Judge:
    """A strict grader of whole replies from a judge of extracted answers.

    Without a marker, with the bare template or with nothing behind the marker the verdict is
    `no_answer`; the judge never sees the rest of the reply.
    """

    def grade(sample: Sample, reply: str) -> Grade:
        answer = find_answer(reply)
        if answer is None:
            return Grade("no_answer", "the reply has no final answer marker")
        if not answer:
            return Grade("no_answer", "nothing stands behind the final answer marker")
        return judge(sample, answer)

    return grade


def correct(answer: str, reason: str = "", **details: object) -> Grade:
    """A grade of 1, with what was read as the answer."""
    return Grade("correct", reason, answer, 1.0, dict(details))


def incorrect(answer: str, reason: str, **details: object) -> Grade:
    """A grade of 0, with the reason."""
    return Grade("incorrect", reason, answer, 0.0, dict(details))


def paper_grade(right: bool, answer: str, reason: str = "") -> Grade:
    """The published evaluator knows right and wrong only."""
    verdict: Literal["correct", "incorrect"] = "correct" if right else "incorrect"
    return Grade(verdict, reason, answer, float(right))


def without_boxes(answer: str) -> str:
    """The answer without LaTeX's boxes and text commands: `\\boxed{\\text{(J)}}` is (J)."""
    for _ in range(4):  # a box in a box is rare, and hostile nesting is not worth the time
        answer = _WRAPPED.sub(r" \1 ", answer)
    return answer


def abstains(answer: str) -> bool:
    """Whether an answer says that there is none, or that none was found (English)."""
    return _ABSTAINING.search(answer.replace("’", "'")) is not None


def is_negated(text: str, start: int, end: int) -> bool:
    """Whether what stands at text[start:end] is named only to be ruled out.

    `not X`, `rather than X`, `≠ X` before it; `X is not` behind it.
    """
    before = text[max(0, start - 60) : start].replace("’", "'")
    after = text[end : end + 40].replace("’", "'")
    return _NEGATION.search(before) is not None or _REJECTED.match(after) is not None
