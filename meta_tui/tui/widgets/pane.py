"""The pane: text that grows at its end, wrapped once, painted by lines, never parsed.

It is the one widget for text from models. It is given the blocks of a span and works out what
changed since the last time, so that a reply that streams in costs its last row and a jump to
another moment costs the blocks that differ. It scrolls by itself, without animation, and follows
the end until somebody scrolls up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.content import Content
from textual.geometry import Region, Size
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from meta_tui.tui.keymap import MOVING, SCROLLING, bindings
from meta_tui.tui.paper import Line, block_lines, safe
from meta_tui.tui.state import Block
from meta_tui.tui.wrap import LONGEST, wrap

Row = tuple[int, int, int]
"""(line, start, end): a row of the screen is a stretch of a line."""

LOOKS = (
    "question round asked sent reasoning reply output error notice failure stored stored-head answer "
    "answer-head end added removed same added-word removed-word code code-head code-mark code-comment code-string code-number "
    "code-keyword code-name"
).split()

STEP = 20
"""Cells by which unwrapped lines are moved."""

MORE = "›"
"""At the right of a row that goes on."""

NEAR = 200
"""Characters around a row in which found words are looked for when it is painted."""


class Pane(Widget, can_focus=True):
    """Scrolling text with a border, a title and a line of facts.

    Args:
        tail: follow the end, as for text that is being written; else begin at the top.
    """

    ALLOW_SELECT = True
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"pane--{look}" for look in LOOKS} | {
        "pane--gutter",
        "pane--track",
        "pane--thumb",
        "pane--found",
    }
    BINDINGS: ClassVar[list[BindingType]] = bindings((*SCROLLING, *MOVING))

    def __init__(self, *, tail: bool = True, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.tail = tail
        self.follow = tail
        self.top = 0
        self.beside: Pane | None = None
        self._blocks: tuple[Block, ...] = ()
        self._starts: list[int] = []
        self._lines: list[Line] = []
        self._rows: list[Row] = []
        self._line_rows: list[int] = []
        self._tail = ""
        self._width = 0
        self._wraps = True
        self.shift = 0
        self._title = ""
        self._facts = ""
        self._pattern: re.Pattern[str] | None = None
        self._base = Style()

    # What it shows.

    @property
    def rows(self) -> list[str]:
        """All rows as text, gutters included: what tests and copying read."""
        return [self._row_text(row) for row in self._rows]

    @property
    def text(self) -> str:
        """All lines as text, unwrapped, without gutters."""
        return "\n".join(line.text for line in self._lines)

    def show(self, blocks: tuple[Block, ...]) -> None:
        """Show these blocks; what is the same as before is left alone."""
        same = _same_start(self._blocks, blocks)
        if same == len(blocks) == len(self._blocks):
            self._blocks = blocks
            return
        first_row = len(self._rows)
        if self._grows(blocks, same):
            first_row = self._grow(blocks[same].text)
        else:
            first_row = min(first_row, self._cut(same))
            self._add(blocks, same)
        self._blocks = blocks
        self._settle(first_row)

    def holds(self, blocks: tuple[Block, ...]) -> bool:
        """Whether these very blocks are shown already."""
        return blocks is self._blocks

    def caption(self, title: str, facts: str = "") -> None:
        """The words in the border; `title` must not be empty."""
        if title != self._title:
            self._title = title
            self._entitle()
        if facts != self._facts:
            self._facts = facts
            self.border_subtitle = Content(facts) if facts else None

    def _entitle(self) -> None:
        """The focused pane says so with a sign, never by colour alone."""
        if self._title:
            self.border_title = Content(f"> {self._title}" if self.has_focus else self._title)

    def watch_has_focus(self, has_focus: bool) -> None:
        """Say so in the title, at once."""
        super().watch_has_focus(has_focus)
        self._entitle()

    def clear(self) -> None:
        """Nothing, at the top, following."""
        self._blocks, self._starts, self._lines, self._rows, self._line_rows = (), [], [], [], []
        self._tail, self.top, self.follow = "", 0, self.tail
        self.refresh()

    def on_mount(self) -> None:
        """Wrap as the app's other panes do."""
        self._wraps = bool(getattr(self.app, "wrapped", True))

    def wrap_lines(self, on: bool) -> None:
        """Wrap long lines, or show each on one row; the top stays at the same line."""
        if on == self._wraps:
            return
        self._wraps, self.shift = on, 0
        self._again()

    # Finding.

    def find(self, words: str) -> int:
        """Mark every place of some words (case does not matter); how many lines hold them."""
        self._pattern = re.compile(re.escape(words), re.IGNORECASE) if words else None
        self.refresh()
        return len(self._found())

    def next_found(self, forward: bool = True) -> bool:
        """Scroll to the next line that holds the words; False where there is none."""
        return self._to_one_of(self._found(), forward)

    def _to_one_of(self, rows: list[int], forward: bool) -> bool:
        if not rows:
            return False
        ahead = (
            [row for row in rows if row > self.top] if forward else [row for row in rows if row < self.top]
        )
        target = (ahead[0] if forward else ahead[-1]) if ahead else (rows[0] if forward else rows[-1])
        self.scroll_top(target)
        return True

    def next_look(self, looks: Sequence[str], forward: bool = True) -> bool:
        """Scroll to the next stretch of lines with one of these looks; False where there is none."""
        rows = [
            self._line_rows[i]
            for i, line in enumerate(self._lines)
            if line.look in looks and (i == 0 or self._lines[i - 1].look not in looks)
        ]
        return self._to_one_of(rows, forward)

    def _found(self) -> list[int]:
        if self._pattern is None:
            return []
        return [self._line_rows[i] for i, line in enumerate(self._lines) if self._pattern.search(line.text)]

    # Scrolling.

    @property
    def last_top(self) -> int:
        """The top row when the last row is at the bottom."""
        return max(0, len(self._rows) - self.size.height)

    def scroll_top(self, top: int) -> None:
        """Make `top` the first row; at the bottom the pane follows again. A pane beside it that
        shows the same lines goes along."""
        if self.beside is not None:
            self.beside._to_top(top)
        self._to_top(top)

    def _to_top(self, top: int) -> None:
        top = max(0, min(top, self.last_top))
        self.follow = self.tail and top >= self.last_top
        if top != self.top:
            self.top = top
            self.refresh()

    def action_down(self) -> None:
        """One line on."""
        self.scroll_top(self.top + 1)

    def action_up(self) -> None:
        """One line back."""
        self.scroll_top(self.top - 1)

    def action_page_down(self) -> None:
        """One page on."""
        self.scroll_top(self.top + max(1, self.size.height - 1))

    def action_page_up(self) -> None:
        """One page back."""
        self.scroll_top(self.top - max(1, self.size.height - 1))

    def action_half_down(self) -> None:
        """Half a page on."""
        self.scroll_top(self.top + max(1, self.size.height // 2))

    def action_half_up(self) -> None:
        """Half a page back."""
        self.scroll_top(self.top - max(1, self.size.height // 2))

    def action_top(self) -> None:
        """To the first row."""
        self.scroll_top(0)

    def action_bottom(self) -> None:
        """To the last row, and follow."""
        self.scroll_top(self.last_top)

    def action_left(self) -> None:
        """Unwrapped lines back to their left."""
        self._shift_to(self.shift - STEP)

    def action_right(self) -> None:
        """Unwrapped lines on to their right."""
        self._shift_to(self.shift + STEP)

    def _shift_to(self, shift: int) -> None:
        shown = self._rows[self.top : self.top + max(1, self.size.height)]
        longest = max((cell_len(self._lines[row[0]].text) for row in shown), default=0)
        most = 0 if self._wraps else max(0, longest - self._text_width() // 2)
        self.shift = max(0, min(shift, most))
        self.refresh()
        if self.beside is not None and self.beside.shift != self.shift:
            self.beside.shift = self.shift
            self.beside.refresh()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel scrolls three lines."""
        event.stop()
        self.scroll_top(self.top + 3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel scrolls three lines."""
        event.stop()
        self.scroll_top(self.top - 3)

    def on_resize(self) -> None:
        """Wrap everything again for the new width; stay at the same line."""
        if not self.size.width:
            return
        if self._text_width() == self._width:
            self._settle(0)
            return
        self._again()

    def _again(self) -> None:
        line = self._rows[self.top][0] if self.top < len(self._rows) else 0
        self._wrap_all()
        self.level()
        if not self.follow and line < len(self._line_rows):
            self.top = self._line_rows[line]
        self._settle(0)

    # Painting.

    def render_lines(self, crop: Region) -> list[Strip]:
        """Rows of the screen; what is the same for all of them is worked out once."""
        self._base = self.rich_style
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        width, number = self.size.width, self.top + y
        base = self._base
        if number >= len(self._rows):
            return Strip.blank(width, base)
        line_number, start, end = self._rows[number]
        line = self._lines[line_number]
        style = self._look(line.look)
        segments = [Segment(line.lead if start == 0 else line.hang, self._gutter(line.look))]
        segments += self._shown(line, start, end, style)
        strip = Strip(segments).adjust_cell_length(max(0, width - 1), base)
        if self.text_selection is not None:
            strip = self._selected(strip, number)
        return Strip([*strip, self._bar(y)], width).apply_offsets(0, number)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, rows as they are seen."""
        return selection.extract("\n".join(self.rows)), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Paint the selection."""
        self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """A pane takes what its layout gives; on its own it would take all its rows."""
        return max(1, len(self._rows))

    def _look(self, look: str) -> Style:
        return self.get_component_rich_style(f"pane--{look}")

    def _gutter(self, look: str) -> Style:
        return self._look(
            look
            if look in ("notice", "failure", "code-mark", "error", "end", "added", "removed")
            else "gutter"
        )

    def _shown(self, line: Line, start: int, end: int, style: Style) -> list[Segment]:
        """The text of a row; of an unwrapped one the part that the shift brings into sight."""
        if self._wraps:
            return self._text_segments(line, start, end, style)
        room = max(1, self._text_width() - cell_len(line.lead))
        end = min(end, LONGEST * (self.shift + room) + 1)
        if self.shift == 0 and end <= room and line.text.isascii():
            return self._text_segments(line, start, end, style)
        whole = Strip(self._text_segments(line, start, end, style))
        seen = whole.crop(self.shift, self.shift + room)
        if whole.cell_length <= self.shift + room:
            return list(seen)
        return [*seen.crop(0, room - 1), Segment(MORE, self._look("gutter"))]

    def _text_segments(self, line: Line, start: int, end: int, style: Style) -> list[Segment]:
        if self._pattern is None and not line.spans:
            return [Segment(line.text[start:end], style)]
        looks = {(begin, stop): look for begin, stop, look in line.spans}
        if self._pattern is not None:
            looks |= {
                found.span(): "found"
                for found in self._pattern.finditer(line.text, max(0, start - NEAR), end + NEAR)
            }
        cuts = sorted({start, end, *(cut for span in looks for cut in span if start < cut < end)})
        return [Segment(line.text[a:b], self._look_at(looks, a, b) or style) for a, b in pairwise(cuts)]

    def _look_at(self, looks: dict[tuple[int, int], str], start: int, end: int) -> Style | None:
        around = [look for (a, b), look in looks.items() if a <= start and end <= b]
        return self._look("found" if "found" in around else around[0]) if around else None

    def _selected(self, strip: Strip, row: int) -> Strip:
        selection = self.text_selection
        span = selection.get_span(row) if selection else None
        if span is None:
            return strip
        begin, end = span
        width = strip.cell_length
        end = width if end == -1 else min(end, width)
        before, chosen, after = strip.crop(0, begin), strip.crop(begin, end), strip.crop(end, width)
        return Strip.join([before, chosen.apply_style(self.selection_style), after])

    @property
    def selection_style(self) -> Style:
        """How selected text looks."""
        return self.screen.get_component_rich_style("screen--selection")

    def _bar(self, y: int) -> Segment:
        height, total = self.size.height, len(self._rows)
        if total <= height:
            return Segment(" ", self._base)
        length = max(1, height * height // total)
        begin = (height - length) * self.top // max(1, self.last_top)
        on = begin <= y < begin + length
        return Segment(
            "┃" if on else "│", self.get_component_rich_style("pane--thumb" if on else "pane--track")
        )

    def _row_text(self, row: Row) -> str:
        line = self._lines[row[0]]
        return (line.lead if row[1] == 0 else line.hang) + line.text[row[1] : row[2]].rstrip()

    # Keeping lines and rows.

    def _grows(self, blocks: tuple[Block, ...], at: int) -> bool:
        """Whether the only change is more text at the end of the last block."""
        if not at == len(blocks) - 1 == len(self._blocks) - 1:
            return False
        old, new = self._blocks[at], blocks[at]
        kinds = old.kind == new.kind == "reply" and old.open and new.open and old.n == new.n
        return kinds and bool(self._tail) and new.text.startswith(self._tail)

    def _grow(self, text: str) -> int:
        """Append what is new of an open reply; the first row that changed."""
        shown = text[:-1] if text.endswith("\r") else text
        pieces = safe(shown[len(self._tail) :]).split("\n")
        self._tail = shown
        last = len(self._lines) - 1
        line = self._lines[last]
        self._lines[last] = line._replace(text=line.text + pieces[0])
        begin = self._rows.pop()[1] if self._rows else 0
        first = len(self._rows)
        self._wrap_line(last, begin)
        for piece in pieces[1:]:
            self._append(Line(piece, line.look, line.hang, line.hang))
        return first

    def _cut(self, at: int) -> int:
        """Forget the blocks from `at` on; the first row that is gone."""
        if at < len(self._starts):
            line = self._starts[at]
            row = self._line_rows[line] if line < len(self._line_rows) else len(self._rows)
            del self._lines[line:], self._line_rows[line:], self._rows[row:], self._starts[at:]
        self._tail = ""
        return len(self._rows)

    def _add(self, blocks: Sequence[Block], at: int) -> None:
        for index in range(at, len(blocks)):
            block = blocks[index]
            self._starts.append(len(self._lines))
            for line in block_lines(_held_back(block), not self._lines):
                self._append(line)
            if block.kind == "reply" and block.open:
                self._tail = _held_back(block).text

    def _append(self, line: Line) -> None:
        self._lines.append(line)
        self._line_rows.append(len(self._rows))
        self._wrap_line(len(self._lines) - 1, 0)

    def _wrap_line(self, number: int, begin: int) -> None:
        if not self._width:
            return  # not laid out yet: `on_resize` wraps everything
        line = self._lines[number]
        width = max(1, self._width - len(line.lead))
        if not self._wraps or (begin == 0 and len(line.text) <= width and line.text.isascii()):
            self._rows.append((number, 0, len(line.text)))
        else:
            self._rows += [(number, start, end) for start, end in wrap(line.text, width, begin)]

    def _text_width(self) -> int:
        return max(1, self.size.width - 1)

    def _wrap_all(self) -> None:
        self._width = self._text_width()
        self._rows, self._line_rows = [], []
        for number in range(len(self._lines)):
            self._line_rows.append(len(self._rows))
            self._wrap_line(number, 0)

    def level(self) -> None:
        """Give each line as many rows as its fellow in the pane beside this one, so that both stand
        at one height; nothing where the two do not show the same number of lines."""
        other = self.beside
        if other is None or len(other._lines) != len(self._lines) or not (self._width and other._width):
            return
        both = (self, other)
        for pane in both:
            pane._wrap_all()
        heights = [max(pair) for pair in zip(self._heights(), other._heights(), strict=True)]
        for pane in both:
            pane._pad(heights)
            pane._settle(0)

    def _heights(self) -> list[int]:
        return [after - before for before, after in pairwise([*self._line_rows, len(self._rows)])]

    def _pad(self, heights: Sequence[int]) -> None:
        rows, own_heights = self._rows, self._heights()
        padded: list[Row] = []
        self._line_rows = []
        place = 0
        for number, (own, height) in enumerate(zip(own_heights, heights, strict=True)):
            self._line_rows.append(len(padded))
            end = len(self._lines[number].text)
            padded += [*rows[place : place + own], *[(number, end, end)] * (height - own)]
            place += own
        self._rows = padded

    def _settle(self, first_row: int) -> None:
        """Keep the top where it belongs and paint what changed."""
        top = self.last_top if self.follow else min(self.top, self.last_top)
        if top != self.top:
            self.top = top
            self.refresh()
            return
        y = max(0, first_row - self.top)
        if y < self.size.height:
            self.refresh(Region(0, y, self.size.width, self.size.height - y))


def _held_back(block: Block) -> Block:
    """An open block without a carriage return at its end: the newline may still come."""
    if block.open and block.parts and block.parts[-1].endswith("\r"):
        return Block(block.kind, (block.text[:-1],), block.note, block.n, True, block.quiet, block.mark)
    return block


def _same_start(old: Sequence[Block], new: Sequence[Block]) -> int:
    """How many blocks two panes share from the start."""
    count = 0
    for before, after in zip(old, new, strict=False):
        if before is not after and before != after:
            break
        count += 1
    return count
