"""The live engine: events one by one, standard library only."""
