"""The command palette of Textual, kept alive where its list has no room or is not laid out yet."""

from __future__ import annotations

from textual.command import CommandList, CommandPalette


class Palette(CommandPalette):
    """Paging through a list that has no lines yet does nothing; in Textual 8.2 it ends the app."""

    def _action_command_list(self, action: str) -> None:
        if self.query_one(CommandList).scrollable_content_region:
            super()._action_command_list(action)
