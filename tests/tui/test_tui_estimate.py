"""The estimate of the form: ranges of past runs, and never a price that nobody knows."""

from test_tui_flows import until

from meta_tui.config import Settings
from meta_tui.store import RunSummary
from meta_tui.tui.app import MetaApp
from meta_tui.tui.estimate import estimate
from meta_tui.tui.screens.ask import AskScreen


def run(calls, cost=None, model="m", method="meta_prompting", status="answered"):
    return RunSummary("id", "p", method, model, status=status, calls=calls, cost=cost)


def test_calls_and_cost_lie_between_those_of_past_runs():
    past = [run(4, 0.02), run(15, 0.15), run(6, 0.05)]
    assert estimate(past, "meta_prompting", "m") == "about 4-15 calls, cost $0.02-0.15 (from 3 past runs)"


def test_the_outermost_of_many_are_left_out():
    """Of ten runs the least and the greatest do not count."""
    past = [run(n, n / 100) for n in (1, 4, 5, 5, 5, 5, 5, 5, 7, 90)]
    assert estimate(past, "meta_prompting", "m").startswith("about 4-7 calls, cost $0.04-0.07 ")


def test_runs_with_another_model_tell_calls_but_no_price():
    past = [run(5, 0.05, "other")]
    assert estimate(past, "meta_prompting", "m") == "about 5 calls, cost - (from 1 past run)"


def test_an_unknown_price_is_a_dash():
    assert "cost -" in estimate([run(5)], "meta_prompting", "m")


def test_runs_of_other_methods_and_stopped_runs_do_not_count():
    past = [run(5, method="standard"), run(1, status="cancelled"), run(2, status="budget")]
    assert estimate(past, "meta_prompting", "m") == "no past run of this method to estimate from"


def test_the_limit_of_calls_caps_the_range():
    assert estimate([run(4), run(15)], "meta_prompting", "m", 6).startswith("about 4-6 calls")
    assert estimate([run(4), run(15)], "meta_prompting", "m", 1).startswith("about 1 call,")


def test_small_prices_are_not_rounded_to_nothing():
    assert "$0.0021" in estimate([run(3, 0.0021)], "meta_prompting", "m")


async def test_the_form_tells_it_and_follows_what_is_chosen():
    past = [run(4, 0.02), run(15, 0.15)]
    methods = ("meta_prompting", "standard")
    app = MetaApp(lambda: AskScreen(Settings(model="m"), offered=methods, fetch=lambda: past), fps=0)
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, AskScreen) and app.screen._past, "past runs")
        shown = app.screen.query_one("#estimate")
        assert str(shown.content).startswith("about 4-15 calls, cost $0.02-0.15")
        app.screen.query_one("#max_calls").value = "5"
        await pilot.pause()
        assert str(shown.content).startswith("about 4-5 calls")
        app.screen.query_one("#methods").move_to(1)
        await pilot.pause()
        assert str(shown.content).startswith("no past run")
