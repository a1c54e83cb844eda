"""The hook: a coding agent that runs now is told what it does, while it does it.

A hook is started anew for every event of the agent, so its code is kept in an image that loads quickly
(image.py writes it, start.py runs it). What stands in the image is the same code that everything else uses:
the signals of runs and the plain reading of programs, on the standard library alone.
"""
