"""Starts Java programs that cannot reach other machines."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from support.java_programs import Installed
from support.kcl.event_process import EventProcess

SMALL = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
"""A small heap, and a quick start instead of fast code."""
FAST = ("-Xmx1g", "-XX:+UseSerialGC", "-Xshare:auto")
"""Fast code. Other collectors take more CPU for their threads."""
_NOBODY = "127.0.0.1", "1"
"""An address at which nobody listens: the proxy for all names and addresses of other machines."""


def trust(authority: Path, folder: Path) -> tuple[str, str]:
    """Return the properties of a JVM that trusts the certificate in *authority*, a file in PEM. *folder* gets a file of Java's."""
    store, password = folder / f"{authority.stem}.p12", "changeit"
    into = ("-keystore", str(store), "-storetype", "PKCS12", "-storepass", password)
    if not store.exists():
        command = [
            "keytool",
            "-importcert",
            "-noprompt",
            "-alias",
            "authority",
            "-file",
            str(authority),
            *into,
        ]
        subprocess.run(command, check=True, capture_output=True)
    return f"javax.net.ssl.trustStore={store}", f"javax.net.ssl.trustStorePassword={password}"


def start_java(
    installed: Installed,
    main: str,
    arguments: Iterable[str],
    log: Path,
    properties: Iterable[str] = (),
    flags: Iterable[str] = SMALL,
    environment: Mapping[str, str] | None = None,
) -> EventProcess:
    """
    Start the class *main*.

    *properties* are system properties, as name=value, *flags* those of the JVM, and *environment* its variables.
    """
    host, port = _NOBODY
    proxies = [
        f"-D{kind}.proxy{name}" for kind in ("http", "https") for name in (f"Host={host}", f"Port={port}")
    ]
    given = [f"-D{each}" for each in ("http.nonProxyHosts=127.0.0.1", *properties)]
    if installed.loaded.exists():
        flags = (*flags, f"-XX:SharedArchiveFile={installed.loaded}")
    command = ["java", *flags, *proxies, *given, "-cp", installed.class_path, main, *arguments]
    return EventProcess(command, log, environment)
