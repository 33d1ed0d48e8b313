"""Exact inference on plane (and low-genus) graphs."""
