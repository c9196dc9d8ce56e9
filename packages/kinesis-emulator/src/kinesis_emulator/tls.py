"""TLS: a given certificate, or one that is made at the start with an authority of its own."""

from __future__ import annotations

import socket
import ssl
import tempfile
from importlib.util import find_spec
from pathlib import Path

_NAMES = ("localhost", "127.0.0.1", "::1")
"""What clients on this machine may call it."""


def given_certificate(certificate: Path, key: Path, protocols: list[str]) -> ssl.SSLContext:
    """
    Return the context of a server with this certificate and its key, both in PEM.

    Raises:
        ValueError: They cannot be read, or are not a certificate and its key.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key)
    except OSError as error:  # it does not say for which of the files
        raise ValueError(f"{certificate} and {key} are not a certificate and its key: {error}.") from error
    context.set_alpn_protocols(protocols)
    return context


class MadeCertificate:
    """
    A new certificate that names *host*, this machine and its loopback addresses, until `remove`.

    Attributes:
        authority: The file with the certificate that clients must trust.
        context: The context of a server.

    Raises:
        ValueError: The package cryptography is not installed.
    """

    def __init__(self, host: str, protocols: list[str]) -> None:
        if find_spec("cryptography") is None:
            raise ValueError(
                'A certificate is made by the package cryptography: pip install "kinesis-emulator[tls]". '
                "Or give a certificate and its key."
            )
        from kinesis_emulator import certificates as made  # it takes time, and needs the package

        self._folder = tempfile.TemporaryDirectory(prefix="kinesis-emulator-")
        folder = Path(self._folder.name)
        made.write_certificates(folder, [*_NAMES, socket.gethostname(), host])
        self.authority = folder / made.AUTHORITY
        self.context = given_certificate(folder / made.OWN, folder / made.KEY, protocols)
        (folder / made.KEY).unlink()

    def remove(self) -> None:
        self._folder.cleanup()
