"""The model of the evaluator `local`: what it reads in a text, its weights, and how they become scores."""
