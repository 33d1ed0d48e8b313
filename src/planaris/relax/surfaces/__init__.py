"""Ground states on surfaces of low genus: T-joins of the dual, cycles around handles, branching."""
