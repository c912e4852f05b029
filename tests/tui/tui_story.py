"""A run written down event by event, for pictures: nothing in it depends on a prompt or a clock."""

from meta_tui.chat import CodeResult, Program, Reply, Usage, system, user
from meta_tui.events import (
    Answered,
    CodeFinished,
    CodeStarted,
    Failed,
    How,
    Rejected,
    Replied,
    Requested,
    RoundStarted,
    RunFinished,
    RunStarted,
    SpanFinished,
    SpanStarted,
)
from meta_tui.store import RunSummary

KEY = "5f" * 32
QUESTION = "Use 4, 5, 6 and 10 once each to make 24."
CODE = "for a in (4, 5, 6, 10):\n    print(a)\nprint((10 - 4) * 5 - 6)"


def model(ms, prompt, completion):
    return How("live", ms, cost=0.0021), Usage(prompt, completion)


def replied(n, text, span="", ms=1200, prompt=400, completion=60, source=None):
    how, usage = model(ms, prompt, completion)
    return Replied(n, Reply(text, usage=usage), span=span, how=source or how, id="0" * 16)


EVENTS = [
    RunStarted(1, "meta-tui", "live", "meta_prompting", {}, "openai/gpt-4o", QUESTION, task="game24"),
    RoundStarted(1, 15),
    Requested(0, KEY, (system("You conduct experts."), user(QUESTION))),
    replied(0, 'I ask an expert.\n\nExpert Problem Solver:\n"""\nMake 24 of 4, 5, 6, 10.\n"""'),
    SpanStarted("expert", "Expert Problem Solver", span="1"),
    Requested(0, KEY, (user("You are Expert Problem Solver.\n\nMake 24 of 4, 5, 6, 10."),), span="1"),
    replied(0, "(10 - 4) * 5 - 6\n\n6 * 5 = 30 and 30 - 6 = 24.", "1", source=How("cache", 1)),
    SpanFinished(span="1"),
    RoundStarted(2, 15),
    Requested(1, KEY, (user("one"), user("two"))),
    replied(1, "I am thinking about it."),
    Rejected("neither an expert call nor a final answer"),
    RoundStarted(3, 15),
    Requested(2, KEY, (user("one"), user("two"), user("three"))),
    replied(2, 'Compute it.\n\nExpert Python:\n"""\nCheck (10 - 4) * 5 - 6.\n"""'),
    SpanStarted("expert", "Expert Python", span="2"),
    Requested(0, KEY, (user("You are Expert Python.\n\nCheck (10 - 4) * 5 - 6."),), span="2"),
    Failed(0, "rate_limit", 1, "slow down", 8.0, span="2", id="1" * 16),
    replied(0, f"Here it is.\n\n```python\n{CODE}\n```\nPlease run this code!", "2"),
    CodeStarted(1, KEY, Program(CODE), span="2"),
    CodeFinished(1, CodeResult("ok", "4\n5\n6\n10\n24\n"), span="2", how=How("live", 4), id="2" * 16),
    SpanFinished(span="2"),
    RoundStarted(4, 15),
    Requested(3, KEY, (user("one"), user("four"))),
    replied(3, '>> FINAL ANSWER:\n"""\n(10 - 4) * 5 - 6\n"""'),
    Answered("(10 - 4) * 5 - 6"),
    RunFinished("answered", "accepted"),
]

RUNS = [
    RunSummary(
        "20260131-174502-3f9c", "a.jsonl", "meta_prompting", "openai/gpt-4o", "game24", "game24:17", "live",
        QUESTION, "answered", "accepted", "(10 - 4) * 5 - 6", 4, 6, 1, 2760, 0.0126, 1, 1769881502.0, 12.5, 9000,
    ),
    RunSummary(
        "20260131-120000-aaaa", "b.jsonl", "meta_prompting", "openai/gpt-4o", "words", "words:3", "live",
        "Sort these words: pear, apple, fig.", "budget", "budget", None, 11, 31, 2, 30_100, None, 0, 1769860800.0,
    ),
    RunSummary("words-sorted", "c.jsonl", "standard", "scripted", "words", "", "written", "Sort: b, a.", "answered", "accepted", "a, b", 1, 1, 0),
    RunSummary("cut", "d.jsonl", status="damaged", reason="line 3: message 0123 was changed"),
]  # fmt: skip


def source_of(events=EVENTS):
    async def source(emit, stop):
        for event in events:
            emit(event)

    return source
