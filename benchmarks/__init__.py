"""Speed and quality of ethogram, measured from a clone: `python -m benchmarks`. Not part of the package."""
