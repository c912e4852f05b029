"""What `meta-tui serve` runs for each browser: the app, for playback only."""

from __future__ import annotations

import sys
from pathlib import Path


def main(arguments: list[str]) -> None:
    """The run list, or the playback of the run whose path is given."""
    from meta_tui.tui.app import MetaApp
    from meta_tui.tui.origin import playback
    from meta_tui.tui.screens.home import HomeScreen
    from meta_tui.tui.screens.run import RunScreen

    def first() -> HomeScreen | RunScreen:
        if not arguments:
            return HomeScreen()
        path = Path(arguments[0])
        return RunScreen(playback(path), title=path.stem, log=path)

    MetaApp(first, playback_only=True).run()


if __name__ == "__main__":
    main(sys.argv[1:])
