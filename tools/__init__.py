"""Programs that are no tests: they build, measure, and kill. They share code with tests, so PYTHONPATH names `tests` and this folder's parent."""
