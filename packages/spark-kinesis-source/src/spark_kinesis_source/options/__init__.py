"""The options of the source, declared once, and parsed into settings."""
