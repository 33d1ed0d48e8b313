"""log Z of grids by contraction of a tensor network, with bounds on every rounding error."""
