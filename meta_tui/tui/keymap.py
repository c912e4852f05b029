"""The one table of keys: a letter has one meaning, on every screen that has it at all.

Screens name the actions that they support; bindings, footer hints and help are made from this
table. A user's configuration may give an action other keys; two meanings of one key are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from textual.binding import Binding, BindingType

from meta_tui.errors import UsageError


class Key(NamedTuple):
    """An action and the keys that mean it.

    Attributes:
        action: name of the action (`action_<name>` of the screen or the widget).
        keys: as Textual names them.
        shown: how the keys are written for people.
        hint: one or two words for the footer.
        meaning: a sentence for the help.
    """

    action: str
    keys: tuple[str, ...]
    shown: str
    hint: str
    meaning: str


_TABLE = (
    Key("help", ("question_mark", "f1"), "?", "Help", "Explain this screen and its keys."),
    Key("command_palette", ("ctrl+p",), "ctrl+p", "Commands", "Find any action by its name."),
    Key("back", ("escape", "q"), "q", "Back", "Leave this screen; a running solve is never stopped unasked."),
    Key("quit", ("ctrl+q",), "ctrl+q", "Quit", "Leave meta-tui."),
    Key("interrupt", ("ctrl+c",), "ctrl+c", "Stop", "Stop a live run after this call; twice: stop it now."),
    Key("open", ("enter",), "enter", "Open", "Open what is selected."),
    Key(
        "play", ("space",), "space", "Play/Pause", "Play or pause; a live run goes on behind a paused screen."
    ),
    Key("call_on", ("l", "right"), "l", "Next call", "Step to the end of the next call."),
    Key("call_back", ("h", "left"), "h", "Call back", "Step to the end of the previous call."),
    Key("round_on", ("right_square_bracket",), "]", "Next round", "Step to the next round."),
    Key("round_back", ("left_square_bracket",), "[", "Round back", "Step to the previous round."),
    Key("to_start", ("0",), "0", "Start", "Go to the beginning."),
    Key("to_end", ("dollar_sign",), "$", "End", "Go to the end; a live run is followed again."),
    Key("faster", ("greater_than_sign",), ">", "Faster", "Play faster."),
    Key("slower", ("less_than_sign",), "<", "Slower", "Play slower."),
    Key("zoom", ("z",), "z", "Zoom", "Give the focused pane the whole screen, or take it back."),
)
KEYS: dict[str, Key] = {key.action: key for key in _TABLE}
"""Action -> its key."""

PANE_KEYS = "1-9"


def bindings(actions: Iterable[str], own: Mapping[str, Sequence[str]] | None = None) -> list[BindingType]:
    """Textual bindings of some actions.

    Args:
        actions: names of actions in the table.
        own: the user's keys by action.
    """
    return [
        Binding(",".join((own or {}).get(name) or KEYS[name].keys), name, KEYS[name].hint, show=False)
        for name in actions
    ]


def check(own: Mapping[str, Sequence[str]]) -> None:
    """See that a user's keys leave every key with one meaning.

    Raises:
        UsageError: an unknown action, or a key that would mean two things.
    """
    taken: dict[str, str] = {}
    for name in own:
        if name not in KEYS:
            raise UsageError(f"keys: there is no action {name!r}; see `?` in the app")
    for name, key in KEYS.items():
        for word in own.get(name) or key.keys:
            if word in taken:
                raise UsageError(
                    f"keys: {word!r} would mean both {taken[word]!r} and {name!r}; give one another key"
                )
            taken[word] = name
