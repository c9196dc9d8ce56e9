"""Encryption of a stream. Responses say so, but nothing is encrypted, and there is no key."""

from __future__ import annotations

from kinesis_emulator.errors import invalid_argument
from kinesis_emulator.quotas import count_change
from kinesis_emulator.requests import Request
from kinesis_emulator.service import Service
from kinesis_emulator.store import EncryptionType

DEFAULT_KEY = "alias/aws/kinesis"
"""The key of Kinesis itself."""


def start(service: Service, request: Request) -> None:
    """Use the key from now on. Another one replaces it."""
    _change(service, request, "KMS", request.text("KeyId"))


def stop(service: Service, request: Request) -> None:
    """Encrypt no further records, whatever the key. It may be that none was encrypted before."""
    _change(service, request, "NONE", None)


def _change(service: Service, request: Request, encryption: EncryptionType, key_id: str | None) -> None:
    if request.text("EncryptionType") != "KMS":
        raise invalid_argument("The EncryptionType must be KMS, both to start and to stop the encryption.")
    with service.change(request) as stream:
        if (stream.encryption, stream.key_id) != (encryption, key_id):
            count_change(service, stream, request.action, service.settings.limits.encryption_changes_per_day)
        stream.encryption, stream.key_id = encryption, key_id
