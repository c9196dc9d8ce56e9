"""The memory of this process, as Linux shows it. `ru_maxrss` would begin with the peak of the process that started this one."""

from __future__ import annotations

from pathlib import Path


def resident_bytes() -> int:
    return _status_bytes("VmRSS")


def peak_bytes() -> int:
    """Return the most that was resident since the process started its program."""
    return _status_bytes("VmHWM")


def peak_bytes_of(pid: int) -> int:
    """Return the same of another process; 0 once it has ended."""
    try:
        return _status_bytes("VmHWM", str(pid))
    except OSError:
        return 0


def _status_bytes(name: str, pid: str = "self") -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/{pid}/status has no {name}")
