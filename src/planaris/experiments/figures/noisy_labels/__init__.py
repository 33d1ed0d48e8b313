"""Recovery of labels from noisy nodes and edges (GRSY15): its figures and what they share."""
