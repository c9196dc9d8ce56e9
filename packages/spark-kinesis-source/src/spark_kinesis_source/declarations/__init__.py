"""
Every option of the source, each declared once.

A module for each thing that they are about, with a tuple of its options; `spark_kinesis_source.options` puts them
together. `foreign` has the names of other connectors that need no more than a word.
"""
