"""The options of the sink, declared once, and parsed into settings."""
