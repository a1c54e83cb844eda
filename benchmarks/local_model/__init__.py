"""Training and measuring the model of the evaluator `local`: `python -m benchmarks.local_model.train`."""
