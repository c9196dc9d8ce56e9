"""The command `kinesis` for Amazon Kinesis Data Streams. It is a program: nothing here is for import."""

from kinesis_cli.version import __version__

__all__ = ["__version__"]
