"""Servers of models: addresses and keys, and requests with bounds."""
