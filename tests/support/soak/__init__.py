"""Watches the processes of a Spark query at constant load: what must not grow, and whether it does."""
