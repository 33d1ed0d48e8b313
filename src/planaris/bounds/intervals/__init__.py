"""Intervals around log Z that shrink while time lasts."""
