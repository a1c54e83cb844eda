"""The columnar engine (NumPy): inputs as columns, conditions as masks; events are built only for matches.

Nothing here is imported before it is used, so that a command that does not run it never loads NumPy.
"""
