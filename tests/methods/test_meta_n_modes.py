"""Meta^n, modes: linear with its worked example, D-11, controls, ablations, both base solvers."""

from __future__ import annotations

import re
from typing import Any

import pytest
from meta_n_runs import (
    PACK,
    Numbers,
    Told,
    by_role,
    layer,
    layer_reply,
    means,
    number_of,
    say,
    scores_of,
    script,
    solve,
)

from meta_tui.chat import CodeResult, Program
from meta_tui.errors import CallFailed
from meta_tui.events import How, SpanStarted
from meta_tui.methods import build
from meta_tui.methods.meta_n.method import MetaN
from meta_tui.models.base import Call
from meta_tui.models.scripted import Line
from meta_tui.tasks.loaders import samples


def rising(*values: float) -> Any:
    """Omega marks each layer; the solver scores by the newest mark that it sees."""
    layers = iter(range(1, 99))

    def reply(call: Call) -> Line:
        if call.role == "omega":
            return layer_reply(say(f"[{next(layers)}]"))
        marks = [int(mark) for mark in re.findall(r"\[(\d+)\]", call.request.messages[0].content)]
        return script(values[max(marks, default=0)])

    return reply


def test_d11_a_gain_below_epsilon_ends_a_linear_run_with_patience_one() -> None:
    told = solve(rising(0.40, 0.45, 0.469, 0.9), epsilon=0.02, patience=1)
    assert means(told) == [0.40, 0.45, 0.469]
    assert told.result.reason == "converged"
    assert [body.get("improved", False) for body in told.bodies("archive_best")] == [False, True, False]
    assert told.bodies("stop")[0]["best"] == "C2", "the best prefix is the one with the best mean"


def test_linear_mode_has_patience_one_and_evolutionary_five_unless_they_are_told() -> None:
    assert MetaN().patient == 1
    assert MetaN(mode="evolutionary").patient == 5
    assert MetaN(mode="evolutionary", patience=2).patient == 2


MISSING = "ModuleNotFoundError: No module named 'ortools'"


class Example:
    """The worked example: ten tasks, of which the seed fails four on a missing package.

    The base script of six tasks is worth 44/60, so that the seed has the mean 0.44. Omega(2) adds
    0.07 to the mean, Omega(3) over-prescribes and takes 0.03, Omega(4) takes that directive back.
    """

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def __call__(self, call: Call) -> Line:
        said = call.request.messages[0].content
        if call.role == "omega":
            self.prompts.append(said)
            return self.omega(len(self.prompts))
        number = number_of(call)
        if "Do not import third-party packages" not in said:
            if number < 4:
                return "```python\nimport ortools\ndef solve():\n    return 1\n```"
            return script(round(4.4 / 6, 6))
        if "Always use simulated annealing" in said:
            return script(0.48)
        return script(0.54 if "Call pack_items first" in said and "[checked]" in said else 0.51)

    def omega(self, number: int) -> str:
        if number == 1:
            code = (
                'if "Disregard" in outer_context:\n    pass\n'
                'additional_context = "Do not import third-party packages. Call pack_items first, then improve."'
            )
            return layer_reply(code, "Four tasks fail on a missing package.", pack_items=PACK)
        if number == 2:
            code = (
                'if "Disregard the annealing" not in outer_context:\n'
                '    additional_context = "Always use simulated annealing."'
            )
            return layer_reply(code, "More search everywhere.")
        assert "regressed (10): " in self.prompts[-1], "Omega(4) sees what the layer below did"
        return layer_reply(say("Disregard the annealing directive below. [checked]"), "Rollback of depth 3.")


class NoPackages:
    """The grader of numbers in front of a sandbox without the package."""

    async def execute(self, program: Program) -> tuple[CodeResult, How]:
        """The missing package is missing."""
        from meta_n_runs import InProcess

        if "import ortools" in program.code:
            return CodeResult("error", error=MISSING), How()
        return await InProcess().execute(program)


def example(patience: int) -> tuple[Told, Example]:
    voice = Example()
    return solve(voice, 10, code=NoPackages(), epsilon=0.02, patience=patience, max_depth=4), voice


def test_the_worked_example_stops_after_depth_three_with_patience_one() -> None:
    told, voice = example(1)
    assert means(told) == pytest.approx([0.44, 0.51, 0.48], abs=1e-6)
    (stop,) = told.bodies("stop")
    assert (stop["best"], stop["reason"]) == ("C1", "converged")
    assert MISSING in voice.prompts[0], "raw traces at depth 2"
    failures = [one.get("failure", "") for one in told.bodies("candidate")[0]["scores"]]
    assert failures == ["dependency error"] * 4 + [""] * 6


def test_the_worked_example_repairs_its_regression_with_patience_two() -> None:
    told, _ = example(2)
    assert means(told) == pytest.approx([0.44, 0.51, 0.48, 0.54], abs=1e-6)
    (stop,) = told.bodies("stop")
    assert (stop["best"], stop["reason"]) == ("C3", "max_depth")
    chain = told.bodies("candidate")[3]["chain"]
    assert chain == ["L1", "L2", "L3"], "the chain grows from the latest layer, not from the best"
    deepest = next(prompt for prompt in told.prompts("instance") if "[checked]" in prompt)
    assert deepest.index("Disregard") < deepest.index("Do not import"), "the deepest layer speaks first"
    assert "Always use simulated annealing" not in deepest, "depth 3 heard depth 4"
    assert "pack_items(items: list, capacity: int) -> list" in deepest, "the helper is kept"


def test_growth_from_the_best_prefix_leaves_a_regression_behind() -> None:
    told = solve(rising(0.40, 0.50, 0.30, 0.45), patience=2, grow_from="best")
    assert [body.get("chain", []) for body in told.bodies("candidate")] == [
        [],
        ["L1"],
        ["L1", "L2"],
        ["L1", "L3"],
    ]


def test_a_linear_run_ends_at_its_greatest_depth_or_number_of_iterations() -> None:
    up = [round(0.1 * n, 1) for n in range(1, 10)]
    told = solve(rising(*up), max_depth=3)
    assert (told.result.reason, len(means(told))) == ("max_depth", 3)
    assert solve(rising(*up), iterations=2).result.reason == "max_iterations"


def test_an_empty_layer_counts_as_no_gain() -> None:
    told = solve(by_role(lambda call: "nothing", lambda call: script(0.5)), patience=2)
    assert (told.result.reason, len(told.bodies("omega_call"))) == ("converged", 2)
    assert told.result.calls == 4 + 2


def test_omega_has_temperatures_in_turn_and_may_be_a_stronger_model() -> None:
    told = solve(
        by_role(lambda call: layer_reply(say("x")), lambda call: script(0.5)),
        2,
        mode="evolutionary",
        patience=4,
        omega_model="stronger",
    )
    omegas = [call.request.params for call in told.model.calls if call.role == "omega"]
    assert [params.temperature for params in omegas] == [0.5, 0.7, 0.9, 0.5]
    assert {params.model for params in omegas} == {"stronger"}
    solvers = [call.request.params for call in told.model.calls if call.role == "instance"]
    assert {(params.model, params.temperature) for params in solvers} == {("m", 0.3)}


def test_without_a_library_helpers_are_not_taken() -> None:
    told = solve(
        by_role(lambda call: layer_reply(say("x"), pack_items=PACK), lambda call: script(0.5)),
        2,
        library=False,
    )
    (body,) = told.bodies("layer")
    assert "library" not in body
    assert not [prompt for prompt in told.prompts("instance") if "pack_items" in prompt]


def test_depth_one_spends_its_calls_on_the_base_solver_alone() -> None:
    values = iter([0.1, 0.2, 0.3, 0.1, 0.1, 0.6, 0.2, 0.2])
    told = solve(lambda call: script(next(values)), 2, mode="depth1", calls=8, patience=9)
    assert told.result.calls == 8
    assert not told.bodies("omega_call")
    assert told.bodies("stop")[0]["task_mean"] == pytest.approx((0.3 + 0.6) / 2)
    assert told.bodies("stop")[0]["mean"] == pytest.approx(0.35)


def test_the_object_level_control_shows_each_task_its_own_script_and_trace() -> None:
    def reply(call: Call) -> Line:
        said = call.request.messages[0].content
        tried = re.findall(r"return (0\.\d)", said)
        return script(round(float(tried[-1]) + 0.1, 1) if tried else 0.2)

    told = solve(reply, 3, mode="object_level", calls=9, patience=9)
    assert means(told) == pytest.approx([0.2, 0.3, 0.4])
    assert told.result.calls == 9
    second = told.prompts("instance")[3]
    assert "### t:0" in second
    assert "score: 0.2000" in second
    assert "t:1" not in second


def test_held_out_tasks_are_kept_apart() -> None:
    told = solve(rising(0.4, 0.6, 0.1), 6, held_out=2, patience=1)
    for body in told.bodies("candidate"):
        assert sorted(scores_of(body)) == ["t:0", "t:1", "t:2", "t:3"]
    apart = told.bodies("held_out")
    assert [(body["candidate"], body["mean"]) for body in apart] == [("C0", 0.4), ("C1", 0.6)]
    assert [one["task"] for one in apart[1]["scores"]] == ["t:4", "t:5"]
    assert not [prompt for prompt in told.prompts("omega") if "t:4" in prompt or "number 5" in prompt]


def test_a_chain_is_used_on_one_question_without_any_grader() -> None:
    from meta_n_runs import InProcess
    from scripted_runs import run

    from meta_tui.models.scripted import ScriptedModel
    from meta_tui.run import Doors
    from meta_tui.sources import header

    method = build("meta_n", {"mode": "apply", "chain": [layer(2, say("[go]"))]})
    model = ScriptedModel(lambda call: script("42" if "[go]" in call.request.messages[0].content else "0"))
    result = run(method, header(method, "What?", model="m"), Doors(model, InProcess()), None)
    assert (result.status, result.answer, result.reason) == ("answered", "42", "applied")


def test_layers_are_not_bred_without_graded_tasks() -> None:
    from scripted_runs import run

    from meta_tui.models.scripted import ScriptedModel
    from meta_tui.run import Doors
    from meta_tui.sources import header

    method = build("meta_n")
    result = run(method, header(method, "What?", model="m"), Doors(ScriptedModel([])), None)
    assert (result.status, result.reason, result.calls) == ("failed", "unsupported", 0)


def test_the_agentic_solver_sees_what_its_scripts_gave_but_never_a_grade() -> None:
    turns: list[str] = []

    def reply(call: Call) -> Line:
        turns.append(call.request.messages[-1].content)
        if len(turns) == 1:
            return "```python\ndef solve():\n    print('hm')\n    return 1 / 0\n```"
        return script(0.7) if len(turns) == 2 else "I am content."

    told = solve(reply, 1, base="agentic", mode="apply")
    assert "ZeroDivisionError" in turns[1]
    assert "Turns left: 7" in turns[1]
    assert "solve() returned: 0.7" in turns[2]
    assert "scored" not in "".join(turns)
    assert told.bodies("candidate")[0]["mean"] == 0.7
    assert told.result.calls == 3


def test_an_agentic_solver_has_at_most_eight_turns_and_starves_without_an_answer() -> None:
    told = solve(
        lambda call: "```python\ndef solve():\n    return None\n```", 1, base="agentic", mode="apply"
    )
    assert told.result.calls == 8
    (one,) = told.bodies("candidate")[0]["scores"]
    assert one["failure"] == "turn starvation"
    assert not one.get("success", False)
    with pytest.raises(Exception, match="turns"):
        build("meta_n", {"turns": 9})


class Breaking:
    """A sandbox whose first processes break."""

    def __init__(self, times: int) -> None:
        self.left, self.runs = times, 0

    async def execute(self, program: Program) -> tuple[CodeResult, How]:
        """A crash, or 0.5."""
        self.runs += 1
        self.left -= 1
        return (CodeResult("crash") if self.left >= 0 else CodeResult("ok", value="0.5")), How()


def test_a_script_whose_process_broke_is_run_again_at_most_twice() -> None:
    for times, runs, mean in ((2, 3, 0.5), (5, 3, 0.0)):
        code = Breaking(times)
        told = solve(lambda call: script(1), 1, code=code, mode="apply")
        assert (code.runs, told.bodies("candidate")[0]["mean"], told.result.calls) == (runs, mean, 1)


def test_a_reply_that_a_filter_took_costs_one_task_or_one_layer() -> None:
    def reply(call: Call) -> Line:
        if call.role == "omega":
            return CallFailed("filtered", "no")
        return CallFailed("filtered", "no") if number_of(call) == 1 else script(0.5)

    told = solve(reply, 3, patience=2)
    assert told.result.status == "completed"
    scores = {one["task"]: one.get("failure", "") for one in told.bodies("candidate")[0]["scores"]}
    assert scores == {"t:0": "", "t:1": "environment fault", "t:2": ""}


def test_a_scale_without_ends_has_the_spread_of_the_first_means_as_its_range() -> None:
    told = solve(
        rising(10.0, 30.0, 30.3, 30.3),
        2,
        mode="evolutionary",
        score_range=0,
        patience=2,
        scorer=Numbers(),
        seed=5,
    )
    assert [body.get("improved", False) for body in told.bodies("archive_best")][1] is True
    assert told.result.reason == "converged", "0.3 is less than 2% of 20"


def test_facts_of_tasks_hold_no_target() -> None:
    for task in ("opt", "grids", "symreg"):
        for sample in samples(task, 25):
            (facts,) = MetaN.prepared([sample])["tasks"].values()
            assert facts["category"]
            assert facts["data"]
            if task == "grids":
                wanted = [[int(d) for d in line.split()] for line in sample.target.split("\n")]
                assert wanted != facts["data"]["question"]
                assert len(facts["data"]["examples"]) == 4
            if task == "symreg":
                assert set(facts["data"]) == {"points"}
                assert sample.target not in facts["category"]
            if task == "opt":
                assert "best" not in facts["data"]
                assert "witness" not in facts["data"]


def test_the_same_layer_on_the_same_task_is_run_once() -> None:
    from meta_n_runs import InProcess

    code = InProcess()
    solve(rising(0.1, 0.3, 0.5, 0.7), 3, code=code, max_depth=4)
    said = [program for program in code.programs if "[1]" in program.code and "Task" in program.code]
    assert len(said) == 3, "a layer that does not listen is asked once a task, whatever stands above it"


def test_every_layer_stands_in_the_span_of_the_request_that_wrote_it() -> None:
    told = solve(rising(0.1, 0.3, 0.3))
    spans = {e.span for e in told.events if isinstance(e, SpanStarted) and e.role == "omega"}
    assert {e.span for e in told.stored("layer")} == spans
    assert [e.id for e in told.stored("layer")] == ["L1", "L2"]
