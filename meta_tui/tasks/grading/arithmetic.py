"""Multi-step arithmetic: the answer is one whole number.

`paper` compares strings after deleting punctuation, so `24.0` counts for 240. `strict` compares
values, and takes `−24`, `= 24` and a whole equation that ends in the answer.
"""

from __future__ import annotations

from meta_tui.tasks import Grade, Sample
from meta_tui.tasks.grading.extraction import paper_answer, paper_grade, strictly
from meta_tui.tasks.grading.numbers import judge_number

_DELETED = str.maketrans({",": "", ";": "", ":": "", ".": "", '"': "", "\n": " "})


def without_punctuation(text: str) -> str:
    """The published cleaning: `, ; : . "` deleted, newlines to spaces."""
    return text.translate(_DELETED)


def paper(sample: Sample, reply: str) -> Grade:
    """Equality with the target after the published cleaning."""
    answer = without_punctuation(paper_answer(reply))
    return paper_grade(answer == sample.target.lower(), answer)


def _judge(sample: Sample, answer: str) -> Grade:
    return judge_number(sample, answer)


strict = strictly(_judge)
"""The value that the answer commits to equals the target exactly."""
