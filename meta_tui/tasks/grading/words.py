"""Word sorting: the answer is the words of the question in order.

`paper` compares whole strings after deleting punctuation, so a comma without a space glues words.
`strict` compares lists of words and says what is wrong: order, missing, extra.
"""

from __future__ import annotations

import re
from collections import Counter

from meta_tui.tasks import Grade, Sample
from meta_tui.tasks.grading.arithmetic import without_punctuation
from meta_tui.tasks.grading.extraction import (
    correct,
    incorrect,
    paper_answer,
    paper_grade,
    strictly,
    without_boxes,
)

_SEPARATOR = re.compile(r"[\s,;，、；]+|-{1,4}>|={1,4}>|<-{1,4}|[→⇒➔➜⟶|]")
_NUMBERING = re.compile(r"^\(?\d{1,3}[.)](?=\D|$)|^#\d{1,3}\b[.):]?")
_LEAD = re.compile(r":(?=\s)")
_DENIES = re.compile(r"\b(?:not|wrong|incorrect|unsorted)[\s*_`\"']*:\s*\Z", re.IGNORECASE)
_SHELL = "\"'`*_“”‘’«»[](){}<>.:!?•·-–—"
_APOSTROPHES = str.maketrans("’‘ʼ", "'''")


def paper(sample: Sample, reply: str) -> Grade:
    """Equality with the target after the published cleaning."""
    answer = without_punctuation(paper_answer(reply))
    return paper_grade(answer == sample.target.lower(), answer)


def words(text: str) -> list[str]:
    """The words of a list, folded: bullets, numbering, quotes and a final point stripped; inner
    apostrophes, hyphens and `&` kept."""
    found = []
    for piece in _SEPARATOR.split(text.translate(_APOSTROPHES)):
        word = _NUMBERING.sub("", piece).strip(_SHELL).casefold()
        if word:
            found.append(word)
    return found


def _judge(sample: Sample, answer: str) -> Grade:
    target = words(sample.target)
    given = _list(without_boxes(answer), target)
    shown = " ".join(given)
    if given == target:
        return correct(shown)
    missing, extra = Counter(target) - Counter(given), Counter(given) - Counter(target)
    if not missing and not extra:
        place = next(i for i, (one, other) in enumerate(zip(given, target, strict=True)) if one != other)
        return incorrect(
            shown, f"wrong order: {given[place]} where {target[place]} should stand", place=place
        )
    return incorrect(shown, _difference(missing, extra), missing=list(missing), extra=list(extra))


def _list(answer: str, target: list[str]) -> list[str]:
    """The words that the answer lists: without what leads up to the last colon, and without the
    `and` before a last word, where that gives a list of the right words."""
    wanted = Counter(target)
    for text in (answer, answer[_after_lead(answer) :]):
        given = words(text)
        if Counter(given) == wanted:
            return given
        if len(given) > 2 and given[-2] in ("and", "&") and Counter(given[:-2] + given[-1:]) == wanted:
            return given[:-2] + given[-1:]
    return words(answer)


def _after_lead(answer: str) -> int:
    """Where the list begins behind what leads up to it; `not: a b c` leads up to none."""
    end = max((match.end() for match in _LEAD.finditer(answer)), default=0)
    return 0 if _DENIES.search(answer[max(0, end - 40) : end]) else end


def _difference(missing: Counter[str], extra: Counter[str]) -> str:
    parts = [("missing", missing), ("extra", extra)]
    return "; ".join(f"{name}: {', '.join(list(found)[:5])}" for name, found in parts if found)


strict = strictly(_judge)
"""The answer lists exactly the target's words in its order, in any layout."""
