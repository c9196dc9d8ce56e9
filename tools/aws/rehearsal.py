"""Local servers for a rehearsal: the emulator for Kinesis, and moto for DynamoDB and STS."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from kinesis_emulator import EmulatorProcess
from support.witness import moto
from tools.aws.target import Target

REGION = "us-east-1"
ACCOUNT = "123456789012"
"""moto's. As an access key it is the emulator's, too."""


@contextmanager
def local_target() -> Iterator[Target]:
    """Yield a target whose servers run, with keys for them in the environment."""
    keys = {"AWS_ACCESS_KEY_ID": ACCOUNT, "AWS_SECRET_ACCESS_KEY": "secret"}
    elsewhere = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
    before = dict(os.environ)
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN"):
        os.environ.pop(name, None)
    os.environ.update(keys, **elsewhere, AWS_EC2_METADATA_DISABLED="true")
    try:
        with EmulatorProcess(unlimited=False) as emulator, moto() as other:
            yield Target(None, REGION, emulator.endpoint_url, other, other)
    finally:
        os.environ.clear()
        os.environ.update(before)
