"""The four verbs: the one place that chooses and composes."""
