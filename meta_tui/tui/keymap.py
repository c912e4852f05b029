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
    Key("jump", ("ctrl+o",), "ctrl+o", "Jump", "Put a letter on all that can have the focus; press it."),
    Key("back", ("escape", "q"), "q", "Back", "Leave this screen; a running solve is never stopped unasked."),
    Key("quit", ("ctrl+q",), "ctrl+q", "Quit", "Leave meta-tui."),
    Key("open", ("enter",), "enter", "Open", "Open what is selected."),
    Key("down", ("j", "down"), "j", "Down", "One line on."),
    Key("up", ("k", "up"), "k", "Up", "One line back."),
    Key("page_down", ("pagedown",), "pgdn", "Page on", "One page on."),
    Key("page_up", ("pageup",), "pgup", "Page back", "One page back."),
    Key("half_down", ("ctrl+d",), "ctrl+d", "Half on", "Half a page on."),
    Key("half_up", ("ctrl+u",), "ctrl+u", "Half back", "Half a page back."),
    Key("top", ("g", "home"), "g", "Top", "To the first line."),
    Key("bottom", ("G", "end"), "G", "Bottom", "To the last line; a pane follows again."),
    Key("play", ("space",), "space", "Play", "Play or pause; a live run goes on behind a paused screen."),
    Key("call_back", ("h", "left"), "h", "Call back", "To the end of the previous call."),
    Key("call_on", ("l", "right"), "l", "Call on", "To the end of the next call."),
    Key("round_back", ("left_square_bracket",), "[", "Round back", "To the previous round."),
    Key("round_on", ("right_square_bracket",), "]", "Round on", "To the next round."),
    Key("to_start", ("0",), "0", "Start", "To the beginning."),
    Key("to_end", ("dollar_sign",), "$", "End", "To the end; a live run is followed again."),
    Key("slower", ("less_than_sign",), "<", "Slower", "Play slower."),
    Key("faster", ("greater_than_sign",), ">", "Faster", "Play faster."),
    Key("round", ("r",), "r", "Round", "Go to a round by its number."),
    Key("zoom", ("z",), "z", "Zoom", "Give the focused pane the whole screen, or take it back."),
    Key(
        "find",
        ("slash",),
        "/",
        "Find",
        "Find words on this screen; in the run list: show only runs with them.",
    ),
    Key("next", ("n",), "n", "Next", "To the next place found, or the next difference."),
    Key("previous", ("N",), "N", "Previous", "To the previous place found, or the previous difference."),
    Key("timeline", ("T",), "T", "Timeline", "Show or hide the calls along the run's time."),
    Key(
        "artifacts",
        ("t",),
        "t",
        "Artifacts",
        "Show what workers left, what a stream learned, or the layers that were written.",
    ),
    Key("inspect", ("i",), "i", "Inspect", "Show the call exactly as it was sent and answered."),
    Key("program", ("P",), "P", "Program", "Show a program: code, output, limits; run it again here."),
    Key(
        "rerun",
        ("exclamation_mark",),
        "!",
        "Run again",
        "Run the recorded program again in the sandbox here and compare; no model is asked.",
    ),
    Key("view", ("v",), "v", "View", "The next view of the same thing."),
    Key(
        "markdown",
        ("m",),
        "m",
        "Markdown",
        "Read the last reply of the focused pane as Markdown, or as it is.",
    ),
    Key("wrap", ("w",), "w", "Wrap", "Wrap long lines, or show each on one row."),
    Key("left", ("shift+left",), "shift+left", "Left", "Unwrapped lines: back to their left."),
    Key("right", ("shift+right",), "shift+right", "Right", "Unwrapped lines: on to their right."),
    Key("copy", ("y",), "y", "Copy", "Copy what is focused to the terminal's clipboard."),
    Key("save", ("Y",), "Y", "Save", "Write what is focused to a file."),
    Key("compare", ("d",), "d", "Compare", "Compare two runs: mark one, then choose the other."),
    Key("swap", ("s",), "s", "Swap", "Change sides."),
    Key("new", ("a",), "a", "Ask", "Ask a new question."),
    Key("follow_up", ("u",), "u", "Follow up", "Ask a further question of a run that has an answer."),
    Key(
        "fork",
        ("f",),
        "f",
        "Fork",
        "Go on differently from the call that is shown: edit its reply or draw again.",
    ),
    Key("resume", ("R",), "R", "Resume", "Go on with a run that was stopped, failed or killed."),
    Key("stop", ("x",), "x", "Stop", "Stop a live run after this call; a second time: now."),
    Key(
        "interrupt",
        ("ctrl+c",),
        "ctrl+c",
        "Copy or stop",
        "Copy the selected text; without one, stop a live run.",
    ),
    Key("replay", ("p",), "p", "Replay", "Run the recorded method again against its log: is it the same?"),
    Key("export", ("e",), "e", "Export", "Write the run as a page, a picture or a text to share."),
    Key("evaluations", ("b",), "b", "Evaluations", "Look at an evaluation: table, plots, pairs, progress."),
    Key("settings", ("comma",), ",", "Settings", "Settings in force, and the state of this installation."),
    Key("theme", ("c",), "c", "Colours", "The next theme: dark, light, the terminal's own colours."),
)
KEYS: dict[str, Key] = {key.action: key for key in _TABLE}
"""Action -> its key."""

MOVING = ("left", "right")
"""What only panes understand."""

SCROLLING = ("down", "up", "page_down", "page_up", "half_down", "half_up", "top", "bottom")
"""What panes and lists understand."""


def bindings(actions: Iterable[str]) -> list[BindingType]:
    """Textual bindings of some actions; the action's name is the binding's id, by which a user's
    own keys replace those of the table."""
    return [
        Binding(",".join(KEYS[name].keys), name, KEYS[name].hint, show=False, id=name) for name in actions
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
