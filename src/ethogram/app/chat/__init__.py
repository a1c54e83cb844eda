"""Conversations: scored turn by turn, read from files, confirmed by an evaluator."""
