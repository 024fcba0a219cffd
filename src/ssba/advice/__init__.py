"""What to do with an answer, each asking the model again."""
