"""MCA, the memory of MC2: batch sizes, lessons, the window, retrieval, composing (C-3 to C-8)."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest
from mc2_runs import KNOWLEDGE, LESSON, NO, RESTART, YES, by_role, policies, solve, solved, stream

from meta_tui.events import Rejected, Scored
from meta_tui.methods.embedding import hashed
from meta_tui.methods.mc2.memory import Placed, Rule, Shelf, read_knowledge, read_lesson
from meta_tui.methods.mc2.method import batch_size
from meta_tui.models.base import Call
from meta_tui.models.scripted import Line


@pytest.mark.parametrize(
    ("instances", "size"),
    [(30, 10), (500, 50), (1319, 100), (2000, 100), (800, 80), (100, 10), (1, 10), (119, 11)],
)
def test_c3_a_batch_is_a_tenth_of_the_stream_between_10_and_100(instances: int, size: int) -> None:
    assert batch_size(instances) == size
    assert batch_size(instances, 4) == 4


def test_the_last_batch_may_be_short() -> None:
    told = solve("mc2", by_role, stream(10), batch=4, variant="rmc")
    assert [len(e.inputs) for e in told.stored("batch")] == [4, 4, 2]


def numbered_lessons() -> Callable[[Call], Line]:
    """The Distiller's n-th lesson names its number."""
    seen: dict[str, int] = {}

    def reply(call: Call) -> Line:
        if call.name.startswith("Distil"):
            seen[call.name] = seen.get(call.name, 0) + 1
            return LESSON.replace("check twice", f"LESSON {seen[call.name]} OF {call.name[7:]}")
        return by_role(call)

    return reply


def test_c4_the_consolidator_sees_the_lessons_of_the_last_three_batches() -> None:
    told = solve("mc2", numbered_lessons(), stream(20), batch=4)
    prompts = told.prompts(name="Consolidate Reasoner")
    assert len(prompts) == 5
    for batch, prompt in enumerate(prompts, 1):
        shown = [n for n in range(1, 6) if f"LESSON {n} OF Reasoner" in prompt]
        assert shown == list(range(max(1, batch - 2), batch + 1))
        assert "OF Monitor" not in prompt


def test_c5_a_distiller_sees_the_trajectory_of_its_own_role_alone() -> None:
    def reply(call: Call) -> Line:
        match call.role:
            case "reasoner":
                return solved("ANSWER-OF-R")
            case "monitor":
                return YES.replace("the relation is wrong", "FAULT-OF-M")
            case "controller":
                return RESTART.replace("wrong model", "REASON-OF-C")
        return by_role(call)

    told = solve("mc2", reply, stream(4), batch=4)
    own = {"Reasoner": "ANSWER-OF-R", "Monitor": "FAULT-OF-M", "Controller": "REASON-OF-C"}
    for role, word in own.items():
        (prompt,) = told.prompts(name=f"Distil {role}")
        assert word in prompt
        assert not [other for other in own.values() if other != word and other in prompt]
        assert f"{role[0]}_" in prompt
    (prompt,) = told.prompts(name="Distil Monitor")
    assert "R_" not in prompt.replace("ERROR_", "")


def test_c7_the_first_batch_composes_nothing_and_later_instances_once() -> None:
    """3T calls an instance, and one more from batch 2 on; 3 + 3 memory calls a batch."""
    told = solve("mc2", by_role, stream(8), batch=4)
    assert len(told.calls(name="Compose")) == 4
    assert told.result.calls == 4 * 3 + 6 + 4 * 4 + 6
    spans = {call.span.partition("/")[0] for call in told.calls(name="Compose")}
    assert spans == {"8", "9", "10", "11"}  # batch 1: spans 1-4 and the memory's 5-7


def test_composing_happens_before_every_attempt_where_that_is_asked_for() -> None:
    def reply(call: Call) -> Line:
        return RESTART if call.role == "controller" else by_role(call)

    assert len(solve("mc2", reply, stream(8), batch=4).calls(name="Compose")) == 4
    told = solve("mc2", reply, stream(8), batch=4, per_iteration=True)
    assert len(told.calls(name="Compose")) == 12


def rules(*texts: str, batch: int = 1) -> list[Placed]:
    return [Placed(f"R{batch}.{n}", batch, n, Rule(t, "do"), hashed(t)) for n, t in enumerate(texts, 1)]


def test_c8_the_nearest_three_rules_are_found_in_whatever_order_they_lie() -> None:
    words = ["draw the circle", "count the edges", "check the sum", "draw a circle twice", "add the sum"]
    entries = rules(*words)
    query = hashed("a circle to draw")
    found = Shelf({"reasoner": entries}).nearest("reasoner", query, 3)
    assert [f.rule.text for f in found][:2] == ["draw a circle twice", "draw the circle"]
    assert len(found) == 3
    chance = random.Random(1)
    for _ in range(20):
        chance.shuffle(entries)
        assert Shelf({"reasoner": entries}).nearest("reasoner", query, 3) == found
    assert len(Shelf({"reasoner": entries[:2]}).nearest("reasoner", query, 3)) == 2
    assert Shelf({}).nearest("reasoner", query, 3) == ()


def test_c8_of_equally_near_rules_the_newer_batch_comes_first_then_the_order() -> None:
    entries = [*rules("same words", "same words"), *rules("same words", batch=2)]
    found = Shelf({"monitor": entries}).nearest("monitor", hashed("words"), 3)
    assert [f.id for f in found] == ["R2.1", "R1.1", "R1.2"]


def test_c6_a_composer_that_returns_one_role_is_asked_again_and_the_others_keep_theirs() -> None:
    def reply(call: Call) -> Line:
        return policies(P_R="NEW REASONER") if call.name == "Compose" else by_role(call)

    told = solve("mc2", reply, stream(5), batch=4)
    assert len(told.calls(name="Compose")) == 2
    again = told.prompts(name="Compose")[1]
    assert "P_M is missing; P_C is missing" in again
    reasoner, monitor, controller = (told.prompts(role)[-1] for role in ("reasoner", "monitor", "controller"))
    assert reasoner.startswith("NEW REASONER")
    assert monitor.startswith("You are the Monitor of a team of three.")
    assert controller.startswith("You are the Controller of a team of three.")
    (update,) = told.bodies("policy_update")
    assert {role: u["succeeded"] for role, u in update.items()} == {
        "reasoner": True,
        "monitor": False,
        "controller": False,
    }


def test_c6_over_long_instructions_go_the_same_way() -> None:
    def reply(call: Call) -> Line:
        if call.name == "Compose":
            return policies(P_R="r" * 41, P_M="m" * 40, P_C="c")
        return by_role(call)

    told = solve("mc2", reply, stream(5), batch=4, policy_characters=40)
    assert "P_R has more than 40 characters" in told.prompts(name="Compose")[1]
    assert told.prompts("reasoner")[-1].startswith("You are the Reasoner of a team of three.")
    assert told.prompts("monitor")[-1].startswith("m" * 40)


def test_c6_what_the_second_reply_lacks_is_taken_from_the_first() -> None:
    first = iter([policies(P_R="ONE", P_M="TWO"), policies(P_C="THREE")])

    def reply(call: Call) -> Line:
        return next(first) if call.name == "Compose" else by_role(call)

    told = solve("mc2", reply, stream(5), batch=4)
    assert [told.prompts(r)[-1].partition("\n")[0] for r in ("reasoner", "monitor", "controller")] == [
        "ONE",
        "TWO",
        "THREE",
    ]


def test_the_composer_is_given_the_checklist_the_retrieved_rules_and_the_problem() -> None:
    told = solve("mc2", by_role, stream(5), batch=4)
    (prompt,) = told.prompts(name="Compose")
    assert prompt.count("- DO: check everything twice") == 3
    assert prompt.count("- DO: check twice (when always)") == 3
    assert "What is question number 4?" in prompt
    assert "ERROR_STEP" not in prompt
    (retrieval,) = told.bodies("retrieval")
    assert {role: r["ids"] for role, r in retrieval.items()} == {
        "reasoner": ["R1.1"],
        "monitor": ["M1.1"],
        "controller": ["C1.1"],
    }
    assert all(len(r["sims"]) == 1 for r in retrieval.values())


def test_a_lesson_that_cannot_be_read_is_asked_for_once_more_and_then_skipped() -> None:
    def reply(call: Call) -> Line:
        return "no json" if call.name == "Distil Reasoner" else by_role(call)

    told = solve("mc2", reply, stream(8), batch=4)
    assert len(told.calls(name="Distil Reasoner")) == 4
    assert [e.id for e in told.stored("lesson")] == ["M1", "C1", "M2", "C2"]
    assert not told.calls(name="Consolidate Reasoner")
    assert [b.get("rules", []) for b in told.bodies("knowledge")[::3]] == [[], []]


def test_a_checklist_that_cannot_be_read_stays_as_it_was() -> None:
    def reply(call: Call) -> Line:
        if call.name.startswith("Consolidate") and "question" not in call.name:
            return KNOWLEDGE if "(none)" in call.request.messages[-1].content else "?"
        return by_role(call)

    told = solve("mc2", reply, stream(8), batch=4)
    bodies = told.bodies("knowledge")
    assert bodies[0]["rules"] == bodies[3]["rules"] != []
    assert sum(isinstance(e, Rejected) for e in told.events) == 6


def test_nothing_is_distilled_where_nothing_worked_at_once_and_nothing_failed() -> None:
    """All right, but at the second try: quality B is in neither set."""

    def reply(call: Call) -> Line:
        text = call.request.messages[-1].content
        if call.role == "controller":
            return by_role(call) if "SECOND" in text else RESTART
        if call.role == "reasoner":
            return solved().replace("given", "SECOND" if "Feedback" in text else "FIRST")
        return by_role(call)

    told = solve("mc2", reply, stream(8), batch=4)
    assert not told.calls(name="Distil")
    assert not told.calls(name="Consolidate")
    assert not told.calls(name="Compose")
    assert not told.stored("lesson")


def test_lessons_are_read_with_six_rules_of_each_kind_at_most() -> None:
    many = {"do": [{"rule": f"d{n}"} for n in range(9)], "avoid": ["plain", {"rule": ""}, 3, {"rule": "a"}]}
    found = read_lesson(f"Here it is:\n```json\n{json.dumps(many)}\n```")
    assert found is not None
    assert [r.text for r in found] == ["d0", "d1", "d2", "d3", "d4", "d5", "plain", "a"]
    assert [r.kind for r in found] == ["do"] * 6 + ["avoid"] * 2
    assert read_lesson("{}") is None
    assert read_lesson('{"do": 3}') is None
    assert read_lesson('{"do": []}') == ()


def test_checklists_are_read_with_twelve_rules_at_most() -> None:
    found = read_knowledge(json.dumps({"rules": [{"text": f"r{n}", "kind": "avoid"} for n in range(20)]}))
    assert found is not None
    assert len(found) == 12
    assert {r.kind for r in found} == {"avoid"}
    assert read_knowledge('{"rules": {}}') is None
    assert read_knowledge("[1]") is None


@pytest.mark.parametrize(
    ("variant", "roles", "memory", "composes"),
    [
        ("only_reasoner", {"reasoner"}, set(), 0),
        ("reasoner_updates", {"reasoner"}, {"Distil Reasoner", "Consolidate Reasoner"}, 4),
        ("rmc", {"reasoner", "monitor", "controller"}, set(), 0),
        (
            "rmc_micro",
            {"reasoner", "monitor", "controller"},
            {"Distil Reasoner", "Distil Monitor", "Distil Controller"},
            4,
        ),
        (
            "full",
            {"reasoner", "monitor", "controller"},
            {
                f"{what} {who}"
                for what in ("Distil", "Consolidate")
                for who in ("Reasoner", "Monitor", "Controller")
            },
            4,
        ),
    ],
)
def test_a_variant_has_its_loop_and_its_memory_and_no_more(
    variant: str, roles: set[str], memory: set[str], composes: int
) -> None:
    """Section 4.5 of the specification."""
    told = solve("mc2", by_role, stream(8), batch=4, variant=variant)
    assert {c.role for c in told.model.calls if c.role != "stage"} == roles
    stages = {c.name for c in told.calls("stage")}
    assert stages - {"Compose"} == memory
    assert len(told.calls(name="Compose")) == composes
    assert bool(told.stored("reflection")) == bool(memory)


def test_the_micro_variant_retrieves_from_the_latest_lesson_alone() -> None:
    told = solve("mc2", numbered_lessons(), stream(12), batch=4, variant="rmc_micro")
    last = told.prompts(name="Compose")[-1]
    assert "LESSON 2 OF Reasoner" in last
    assert "LESSON 1 OF" not in last


def test_reasoner_updates_composes_the_reasoner_alone() -> None:
    told = solve("mc2", by_role, stream(5), batch=4, variant="reasoner_updates")
    (prompt,) = told.prompts(name="Compose")
    assert '"P_R"' in prompt
    assert '"P_M"' not in prompt
    assert "Monitor, " not in prompt
    assert [set(body) for body in told.bodies("retrieval")] == [{"reasoner"}]


def test_without_labels_an_instance_that_never_settled_is_a_failure() -> None:
    def reply(call: Call) -> Line:
        return RESTART if call.role == "controller" and "number 1?" in str(call.request) else by_role(call)

    told = solve("mc2", reply, stream(2), batch=2, label_source="none")
    assert [body["success"] for body in told.bodies("reflection")] == [True, False]


def test_with_labels_an_instance_without_an_answer_is_a_failure_and_nobody_is_asked_for_a_grade() -> None:
    def reply(call: Call) -> Line:
        return "1. I do not know" if call.role == "reasoner" else by_role(call)

    told = solve("mc2", reply, stream(1), batch=1)
    assert [body["success"] for body in told.bodies("reflection")] == [False]
    assert not [e for e in told.events if isinstance(e, Scored)]


def test_what_was_composed_holds_in_every_attempt_at_the_problem() -> None:
    """Composed once, before the first attempt; the second and third are told the same."""

    def reply(call: Call) -> Line:
        return RESTART if call.role == "controller" and "number 1?" in str(call.request) else by_role(call)

    told = solve("mc2", reply, stream(2), batch=1)
    assert len(told.calls(name="Compose")) == 1
    attempts = [p for p in told.prompts("reasoner") if "number 1?" in p]
    assert len(attempts) == 3
    assert all(p.startswith("be the Reasoner\n") for p in attempts)
    assert all(p.startswith("be the Monitor\n") for p in told.prompts("monitor")[1:])


def test_a_run_without_labels_asks_for_no_grade_and_says_so() -> None:
    told = solve(
        "mc2", by_role, stream(4), batch=4, label_source="none", golds={f"t:{n}": "8" for n in range(4)}
    )
    assert all(b["success"] and b["label_free"] for b in told.bodies("reflection"))
    told = solve("mc2", by_role, stream(4), batch=4, golds={f"t:{n}": "8" for n in range(4)})
    assert not any(b["success"] or "label_free" in b for b in told.bodies("reflection"))


def test_the_worked_examples_are_in_the_sets_that_the_text_says() -> None:
    """Section 4.7 of the specification: right at the second try in neither; a wrong accept and a run that never
    settled in S-."""
    first = {"t:1": [("7", YES, RESTART), ("14/3", NO, None)], "t:2": [("5", NO, None)]}
    first["t:3"] = [("9", YES, RESTART), ("9", YES, RESTART), ("9", NO, RESTART)]
    places = {f"question number {n}": f"t:{n}" for n in (1, 2, 3)}
    turn: dict[tuple[str, str], int] = {}

    def reply(call: Call) -> Line:
        if call.role == "stage":
            return by_role(call)
        text = call.request.messages[-1].content
        sample = next(s for words, s in places.items() if words in text)
        n = turn[sample, call.role] = turn.get((sample, call.role), -1) + 1
        answer, audit, action = first[sample][n]
        if call.role == "reasoner":
            return solved(answer)
        return audit if call.role == "monitor" else action or f"ACTION: 1\nFINAL_ANSWER: {answer}"

    told = solve("mc2", reply, stream(3, 1), batch=3, golds={"t:1": "14/3", "t:2": "6", "t:3": "1"})
    found = {
        e.id: b["grades"] | {"success": b["success"]}
        for e, b in zip(told.stored("reflection"), told.bodies("reflection"), strict=True)
    }
    assert found["t:1"] == {
        "quality": "B",
        "reasoner": "good",
        "monitor": "good",
        "controller": "good",
        "success": True,
    }
    assert found["t:2"] == {
        "quality": "A",
        "reasoner": "good",
        "monitor": "good",
        "controller": "good",
        "success": False,
    }
    assert found["t:3"] == {
        "quality": "C",
        "reasoner": "poor",
        "monitor": "ok",
        "controller": "poor",
        "success": False,
    }
    (prompt,) = told.prompts(name="Distil Reasoner")
    worked, _, failed = prompt.partition("Reflections that failed:")
    assert "[t:" not in worked
    assert "[t:2]" in failed
    assert "[t:3]" in failed
    assert "[t:1]" not in failed
