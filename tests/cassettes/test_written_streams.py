"""The shipped stream shows what it promises: a rule of one batch changes first attempts of later ones."""

from __future__ import annotations

import asyncio
import math
import re
from fractions import Fraction
from pathlib import Path

import pytest
from msgspec.structs import replace
from test_written_cassettes import by_span, told
from written import SHIPPED, STREAMS, samples

from meta_tui.cli import main
from meta_tui.evaluation.streams import graded, summary
from meta_tui.events import AnyEvent, Outcome, Replied, Requested, Scored, SpanStarted
from meta_tui.methods.mc2.history import History, Instance, history
from meta_tui.methods.ttpi import perplexity
from meta_tui.models.base import Answer, Call, Tell
from meta_tui.run import Doors
from meta_tui.runlog import read
from meta_tui.session import TaskScorer
from meta_tui.sources import resume

NAME = STREAMS[0].name
RULE = "Carry every decimal with at least six digits"


def learned() -> History:
    return history(told(NAME).events)


def instance(name: str) -> Instance:
    return next(one for one in learned().instances if one.sample == name)


def instructions(name: str) -> str:
    """The Reasoner's instructions in the first attempt at a sample."""
    span, events = instance(name).span, told(NAME).events
    first = next(
        e.span
        for e in events
        if isinstance(e, SpanStarted) and e.span.startswith(f"{span}/") and e.role == "reasoner"
    )
    return next(e.messages[0].content for e in events if isinstance(e, Requested) and e.span == first)


def test_it_has_twelve_problems_in_three_batches() -> None:
    assert [one.batch for one in learned().instances] == [1] * 4 + [2] * 4 + [3] * 4
    assert len({one.sample for one in learned().instances}) == 12


def test_two_decimals_rounded_too_early_are_wrong_and_accepted_in_the_first_batch() -> None:
    for name in ("theorem:6", "theorem:19"):
        one = instance(name)
        assert (one.right, one.quality, one.actions) == (False, "A", ("accept",))
        assert re.fullmatch(r"0\.\d\d", one.answer or "")
        assert RULE not in instructions(name)


def test_the_rule_of_the_first_batch_is_in_later_instructions_and_first_attempts_keep_their_digits() -> None:
    (first, *_) = [rules for role, rules in learned().checklists if role == "reasoner"]
    assert [rule.text.startswith(RULE) for rule in first.rules] == [True, False]
    for name in ("theorem:2", "theorem:16", "theorem:13", "theorem:22"):
        assert RULE in instructions(name)
        assert instance(name).right
        assert instance(name).first_answer == instance(name).answer
    assert instance("theorem:16").first_answer == "7.66954"
    assert instance("theorem:22").first_answer == "4.194444"


def test_one_attempt_is_restarted_and_one_is_patched() -> None:
    assert instance("theorem:12").actions == ("restart", "accept")
    assert (instance("theorem:12").first_answer, instance("theorem:12").answer) == ("3", "2")
    assert instance("theorem:18").actions == ("patch",)
    assert (instance("theorem:18").first_answer, instance("theorem:18").answer) == ("121968", "122430")


def test_what_the_batches_changed_is_added_and_merged() -> None:
    changes = {(c.role, c.batch): c for c in learned().changes()}
    assert len(changes["reasoner", 1].added) == 2
    assert [len(changes["monitor", b].added) for b in (1, 2, 3)] == [1, 1, 0]
    assert len(changes["monitor", 3].merged) == 1
    assert len(changes["controller", 3].added) == 1
    lives = {life.rule.text[:20]: life.batches for life in learned().lifetimes() if life.role == "reasoner"}
    assert lives[RULE[:20]] == (1, 2, 3)
    assert learned().retrieved_by()["R1.1"]


def test_the_grades_in_the_log_are_those_of_the_tasks_grader() -> None:
    known = {one.id: one for one in samples(STREAMS[0])}
    right = asyncio.run(graded(learned(), known))
    assert right == {one.span: one.right for one in learned().instances}
    numbers = summary(NAME, told(NAME).recording, right)
    assert [b["correct"] for b in numbers["batches"]] == [2, 4, 4]
    assert sum(isinstance(e, Scored) for e in told(NAME).events) == 12


def test_no_right_answer_is_in_a_prompt_before_somebody_gave_it() -> None:
    """The targets of the two wrong instances stand in no request of theirs."""
    for name, target in (("theorem:6", "0.69998"), ("theorem:19", "0.604597")):
        span = instance(name).span
        asked = [e for e in told(NAME).events if isinstance(e, Requested) and e.span.startswith(f"{span}/")]
        assert asked
        assert target not in "".join(m.content for e in asked for m in e.messages)


def test_the_calculations_of_the_story_are_right_where_they_should_be() -> None:
    assert Fraction(459, 60) == sum(Fraction(7, 7 - k) for k in range(5)) == Fraction(765, 100)
    h = -0.038 * math.log2(0.038) - 0.962 * math.log2(0.962)
    assert round(10 * (1 - h), 5) == 7.66954
    assert round(6 - 195 / 108, 6) == 4.194444
    assert round(0.72**2 + 0.28 * 0.17, 6) == 0.566
    assert math.comb(11, 5) * 265 == 122430
    assert sum((-1) ** k * math.factorial(6) // math.factorial(k) for k in range(7)) == 265
    rows = [(3, 6, -5, 0, -4), (-3, -3, 3, 0, 1), (3, -6, 3, 0, 8), (-9, -9, 9, 0, 3)]
    assert tuple(-3 * a - 4 * b for a, b in zip(rows[0], rows[1], strict=True)) == rows[2]
    assert tuple(3 * b for b in rows[1]) == rows[3]
    assert 1 - math.exp(-4.2) * 26.368 == pytest.approx(0.604597, abs=1e-6)
    assert 2**5 * 5**2 * 11 * 13 == 114400


class Rest:
    """Gives every address the reply that it was given."""

    def __init__(self) -> None:
        self._outcomes = told(NAME).recording.outcomes

    async def answer(self, call: Call, tell: Tell) -> Answer:
        """The recorded reply."""
        last = self._outcomes[call.request.key, call.strand, call.draw][-1]
        assert isinstance(last, Replied)
        return Answer(last.reply, None)


def test_it_goes_on_from_any_of_its_lines_to_the_same_knowledge(tmp_path: Path) -> None:
    """Cut at every 20th line; span by span the run is the same, whoever speaks first."""
    lines = (SHIPPED / f"{NAME}.jsonl").read_bytes().splitlines(keepends=True)
    scorer = TaskScorer({one.id: one for one in samples(STREAMS[0])})
    for count in range(1, len(lines), 20):
        log = tmp_path / f"{count}.jsonl"
        log.write_bytes(b"".join(lines[:count]))
        asyncio.run(resume(log, Doors(Rest(), scorer=scorer), clock=None))
        assert _bare(read(log).events) == _bare(told(NAME).recording.events), f"cut behind line {count}"


def _bare(events: list[AnyEvent]) -> dict[str, list[AnyEvent]]:
    bare = [replace(e, at=None, **({"how": None} if isinstance(e, Outcome) else {})) for e in events]
    return by_span(bare)


def test_the_rivals_all_answer_one_question_alike() -> None:
    names = [p.stem for p in SHIPPED.glob("rival-*.jsonl")]
    assert len(names) == 7
    assert {told(name).result.answer for name in names} == {"25"}
    assert {told(name).recording.started.question for name in names} == {
        told("baseline-standard").recording.started.question
    }


def test_ttpi_goes_on_with_the_surest_step() -> None:
    """Worked out from the made-up log-probabilities: verification, natural, conclusion."""
    kept = [e.title for e in told("rival-ttpi").events if getattr(e, "kind", "") == "candidate"]
    assert kept == ["verification goes on", "natural goes on", "conclusion goes on"]
    assert perplexity((-0.2, -0.1, -0.3, -0.2)) < perplexity((-0.9, -0.7, -1.4, -0.8))


def test_the_bandit_leaves_a_strategy_that_brought_little() -> None:
    names = [
        e.name
        for e in told("rival-meta-reasoner").events
        if isinstance(e, SpanStarted) and e.role == "reasoner"
    ]
    assert names == ["Reasoner: continue", "Reasoner: continue", "Reasoner: verify"]


def test_the_commands_show_and_report_on_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["knowledge", "show", NAME]) == 0
    assert "batch 1, reasoner: 2 added, 0 merged, 0 dropped" in capsys.readouterr().out
    assert main(["knowledge", "report", NAME]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert [line.split()[2] for line in lines if line.startswith(NAME)] == ["2/4", "4/4", "4/4", "10/12"]
