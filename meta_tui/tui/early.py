"""What must be known before anything is imported: whether a setting may be set at all.

Reading settings costs imports that the first frame can do without, and most people set nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

FILE = "config.toml"
PROJECT_FILE = "meta-tui.toml"


def may_be_set(*names: str) -> bool:
    """Whether one of these settings could have another value than its default; no file is read."""
    own = os.environ.get("META_TUI_HOME")
    named = any(f"META_TUI_{name.upper()}" in os.environ for name in names)
    if named or Path(PROJECT_FILE).exists():
        return True
    return (Path(own).expanduser() / FILE).exists() if own else _user_file().exists()


def _user_file() -> Path:
    from platformdirs import user_data_path

    return user_data_path("meta-tui", appauthor=False) / FILE
