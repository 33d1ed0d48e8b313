"""Linear programs over the local and the cycle polytope, solved by cutting planes."""
