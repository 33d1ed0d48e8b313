"""Semidefinite bounds, and branch and bound with them for dense models."""
