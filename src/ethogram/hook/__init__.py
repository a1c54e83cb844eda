"""The hook: a coding agent that runs now is told what it does, while it does it.

A process is started for every event of the agent (start.py), so it loads little: the signals of runs and the
plain reading of programs, on the standard library alone. What the settings of a folder ask for is written as
plain data by planning.py.
"""
