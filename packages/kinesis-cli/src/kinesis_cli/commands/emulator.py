"""The command `kinesis emulator`."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import Annotated

from cyclopts import Parameter

from kinesis_cli.ending import CommandError

PACKAGE = "kinesis_emulator"
_CODE = f"import sys; from {PACKAGE}.cli import main; sys.exit(main(name='kinesis emulator'))"


def emulator(*arguments: Annotated[str, Parameter(allow_leading_hyphen=True)]) -> None:
    """
    Run a local Kinesis on 127.0.0.1.

    It is the command `kinesis-emulator`, and ends with Ctrl-C.

    Parameters
    ----------
    arguments
        The options of `kinesis-emulator`, such as `--stream orders=4`. `kinesis emulator -- --help` lists them.
    """
    if find_spec(PACKAGE) is None:
        raise CommandError('This command needs kinesis-emulator: pip install "kinesis-cli[emulator]"')
    # The same process: signals and the exit status are the emulator's.
    os.execv(sys.executable, [sys.executable, "-c", _CODE, *arguments])  # noqa: S606 # no shell is wanted
