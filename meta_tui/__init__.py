"""meta-tui: run, watch, replay and compare scaffolds of language-model calls."""

__version__ = "0.1.0"
