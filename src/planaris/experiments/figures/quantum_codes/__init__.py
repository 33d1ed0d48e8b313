"""Decoding of quantum codes: trials, and what they show."""
