"""`python -m meta_tui` is the command `meta-tui`."""

import sys

from meta_tui.cli import main

if __name__ == "__main__":
    sys.exit(main())
