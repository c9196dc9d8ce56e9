"""Watches the processes of a Spark query at constant load, and reports what grows."""
