"""Inside the models that can be read: exact answers and proofs."""
