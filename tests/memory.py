"""The most memory that this process ever held. `ru_maxrss` would also count the process that
started it: a child inherits its parent's mark when it is made."""

from __future__ import annotations

import resource
from pathlib import Path


def peak_mb() -> float:
    """Megabytes at the highest point of this very program."""
    status = Path("/proc/self/status")
    if status.exists():
        found = [line for line in status.read_text().split("\n") if line.startswith("VmHWM:")]
        return int(found[0].split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
