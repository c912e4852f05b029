"""Modules of optional libraries."""

from typing import Any

MODULES: dict[str, Any] = {}
