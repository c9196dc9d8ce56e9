"""The screens of `kinesis top`. This room needs textual: `pip install "kinesis-cli[top]"`."""

from kinesis_cli.screens.app import Top

__all__ = ["Top"]
