"""Benchmarks: each figure is a median, and a ratio to a floor of the same run."""
