"""The version of this package. A lookup among the installed packages would search every archive on the path of Spark's processes."""

__version__ = "0.1.0"
