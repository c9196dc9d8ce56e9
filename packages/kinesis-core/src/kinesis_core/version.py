"""The version of this package. A lookup among the installed packages would take longer than to make a client."""

__version__ = "0.1.0"
