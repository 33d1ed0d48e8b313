"""Upper bounds on log Z by convex combinations of planar subgraphs and trees."""
