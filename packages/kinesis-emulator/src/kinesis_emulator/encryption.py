"""Encryption of a stream. Responses say so, but nothing is encrypted, and there is no key."""

from __future__ import annotations

from kinesis_emulator.errors import invalid_argument
from kinesis_emulator.requests import Request
from kinesis_emulator.service import Service

DEFAULT_KEY = "alias/aws/kinesis"
"""The key of Kinesis itself."""


def start(service: Service, request: Request) -> None:
    """Use the key from now on. Another one replaces it."""
    _check_type(request)
    with service.change(request) as stream:
        stream.encryption, stream.key_id = "KMS", request.text("KeyId")


def stop(service: Service, request: Request) -> None:
    """Encrypt no further records, whatever the key. It may be that none was encrypted before."""
    _check_type(request)
    with service.change(request) as stream:
        stream.encryption, stream.key_id = "NONE", None


def _check_type(request: Request) -> None:
    if request.text("EncryptionType") != "KMS":
        raise invalid_argument("The EncryptionType must be KMS, both to start and to stop the encryption.")
