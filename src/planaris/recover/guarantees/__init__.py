"""Theory of recovery (GRSY15): bounds on the error, expansion, regions of wrong labels."""
