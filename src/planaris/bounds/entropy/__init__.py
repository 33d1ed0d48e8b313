"""Upper bounds on log Z by concave entropies over relaxations of the marginal polytope."""
