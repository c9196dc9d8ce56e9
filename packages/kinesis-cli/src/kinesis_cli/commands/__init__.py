"""One module per command: its options, what they mean, and the calls that do the work. `app` names these modules."""

__all__: list[str] = []
