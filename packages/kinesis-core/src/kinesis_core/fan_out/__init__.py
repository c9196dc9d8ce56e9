"""
Enhanced fan-out: a range of a shard read through a subscription of its own, with polling to fall back to.

Nothing is imported here: whoever polls does not pay for it.
"""
