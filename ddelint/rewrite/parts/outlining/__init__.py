"""Code that leaves the graph: the region that is taken out, and the custom operator written around it."""
