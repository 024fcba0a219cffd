"""Ways in: the command line, and whatever else calls the library for a person."""
