"""What a person gets: plain data, its JSON, its sentences and tables."""
