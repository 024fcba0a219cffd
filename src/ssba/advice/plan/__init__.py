"""An answer, step by step."""
