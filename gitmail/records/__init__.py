"""Frozen values and their files; pure: no I/O, no clock, no randomness."""
