"""The user records of one stream are written to another one, and the position is saved."""

from kinesis_cli.copying.parts import plan_copy
from kinesis_cli.copying.running import CopyWriter, copy_parts
from kinesis_cli.copying.same import check_different
from kinesis_cli.copying.state import StateFile

__all__ = [
    "CopyWriter",
    "StateFile",
    "check_different",
    "copy_parts",
    "plan_copy",
]
