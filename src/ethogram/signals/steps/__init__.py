"""Steps: what an event of an agent's run says, read the same way by every signal of runs.

`step.py` reads an event, `shell.py` a command line, `operations.py` says what sort of thing was done,
`volatile.py` takes out what varies by chance, `failure.py` finds the error, `calls.py` joins results to
calls.
"""
