"""Benchmarks: the product and its peers side by side in one run, on data made from a seed."""
