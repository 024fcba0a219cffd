"""The nearest answer: where a search starts, and the steps that bring it closer to the query."""
