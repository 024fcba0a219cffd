"""Many explanations, summarised."""
