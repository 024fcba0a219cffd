"""Leaves moves of the search out, and changes its numbers, to see what each of them is good for."""
