"""A project: a model, its data, and what is asked of them, as one file says it."""
