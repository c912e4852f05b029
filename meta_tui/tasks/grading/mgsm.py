"""Grade-school mathematics in eleven languages: the answer is one number, often in a sentence.

`paper` looks for the target's digits anywhere in the answer after deleting punctuation: `80` is
found in `280`, and a target with a comma can never be found. `strict` reads numbers as the language
writes them and compares values.
"""

from __future__ import annotations

from meta_tui.tasks import Grade, Sample
from meta_tui.tasks.grading.arithmetic import without_punctuation
from meta_tui.tasks.grading.extraction import paper_answer, paper_grade, strictly
from meta_tui.tasks.grading.numbers import judge_number


def paper(sample: Sample, reply: str) -> Grade:
    """The target is a substring of the answer after the published cleaning."""
    answer = without_punctuation(paper_answer(reply))
    return paper_grade(sample.target.lower() in answer, answer)


def _judge(sample: Sample, answer: str) -> Grade:
    return judge_number(sample, answer, language(sample))


def language(sample: Sample) -> str:
    """Two letters: of the task id (`mgsm_bn`), else of the sample's meta, else English."""
    return sample.task.partition("_")[2] or str(sample.meta.get("language", "en"))


strict = strictly(_judge)
"""The value that the answer commits to equals the target exactly."""
