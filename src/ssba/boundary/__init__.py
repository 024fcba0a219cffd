"""Where the model turns: pairs of rows from the two sides, and the bisection between them."""
