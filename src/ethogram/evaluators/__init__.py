"""Evaluators: readings of a message from somebody who understands it. Here is what they are asked."""
