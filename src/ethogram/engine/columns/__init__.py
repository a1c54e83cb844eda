"""The columnar engine (NumPy): whole inputs as columns, conditions as masks, events only for what was found.

Nothing here is imported before it is used, so that a command that does not run it never loads NumPy.
"""
