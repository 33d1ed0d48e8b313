"""Decoding of quantum codes: exact posteriors of logical classes on planar decoding graphs."""
