"""What a piece of code imports, in a process of its own."""

from __future__ import annotations

import subprocess
import sys


def imported_by(code: str, *, after: str = "import pyspark.sql.datasource") -> set[str]:
    """Return the modules that *code* imports in a new process, apart from those that *after* imports."""
    script = f"import sys\n{after}\nbefore = set(sys.modules)\n{code}\nprint(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())
