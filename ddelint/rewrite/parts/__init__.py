"""What several moves build: checks, predicates, arms and their merge, regions taken out of the graph."""
