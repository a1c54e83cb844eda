"""Integrations: one module for each framework or service, imported by its own name."""
