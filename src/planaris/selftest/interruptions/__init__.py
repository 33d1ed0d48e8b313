"""Deadlines, Ctrl-C, kills, full disks and threads: calls that are cut short."""
