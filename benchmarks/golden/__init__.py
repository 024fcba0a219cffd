"""A table of answers to every query of `benchmarks.nearest`, which a change of the search is held against."""
