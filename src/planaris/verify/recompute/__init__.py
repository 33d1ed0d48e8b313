"""log Z and least energies computed again, by algorithms that solvers do not use."""
