"""Certificates for servers on this machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

HOST = "127.0.0.1"


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """Write a self-signed certificate for 127.0.0.1 and its key, and return their paths."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    names = ["-subj", f"/CN={HOST}", "-addext", f"subjectAltName=IP:{HOST}"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *names, *files],
        check=True,
        capture_output=True,
    )
    return certificate, key
