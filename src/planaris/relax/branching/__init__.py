"""Branch and cut with cycle inequalities."""
