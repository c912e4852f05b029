"""Runs for tests of the app, recorded by the ordinary engine with a scripted model."""

from meta_tui.chat import CodeResult
from meta_tui.methods import build
from meta_tui.models.scripted import ScriptedCode, ScriptedModel
from meta_tui.run import Doors
from meta_tui.sources import header, live

ASK_PYTHON = 'Let me compute it.\n\nExpert Python:\n"""\nFind an expression that makes 24.\n"""'
CODE = "for a in range(3):\n    print(a)\nprint('(10 - 4) * 5 - 6')"
PYTHON = f"Here it is.\n\n```python\n{CODE}\n```\nPlease run this code!"
ASK_CHECK = 'Now a check.\n\nExpert Mathematician:\n"""\nIs (10 - 4) * 5 - 6 equal to 24?\n"""'
CHECK = "6 * 5 = 30 and 30 - 6 = 24: yes."
MALFORMED = "I am still thinking about it."
FINAL = '>> FINAL ANSWER:\n"""\n(10 - 4) * 5 - 6\n"""'
REPLIES = [ASK_PYTHON, PYTHON, MALFORMED, ASK_CHECK, CHECK, FINAL]
PRINTED = "0\n1\n2\n(10 - 4) * 5 - 6\n"

RESULTS = (CodeResult("ok", PRINTED),)


async def record(path, replies=REPLIES, results=RESULTS, *, question="Make 24 of 4 5 6 10.", **more):
    """A run of meta-prompting with a scripted model, recorded at `path`."""
    method = build("meta_prompting")
    started = header(method, question, model="scripted", origin="written")
    doors = Doors(ScriptedModel(list(replies), piece=7), ScriptedCode(list(results)))
    return await live(method, started, doors, log=path, clock=None, **more)
