"""Patterns in code, for what a pattern file cannot say: registering them, their state, what they tell."""
