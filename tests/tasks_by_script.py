"""Make samples of families and print what each set hashes to, and the CPU seconds that it took.

A script of its own, so that other interpreters can run it: it needs the package's core and no test
library. Arguments: number of samples, seed, then task ids.
"""

from __future__ import annotations

import sys
import time
from hashlib import sha256

from meta_tui.tasks import family
from meta_tui.tasks.loaders import encode


def main(count: int, seed: int, tasks: list[str]) -> None:
    """One line a task: id, SHA-256 of its JSON lines, seconds."""
    for task in tasks:
        began = time.process_time()
        text = "".join(encode(family(task).generate(index, seed)) for index in range(count))
        print(task, sha256(text.encode()).hexdigest(), f"{time.process_time() - began:.3f}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
