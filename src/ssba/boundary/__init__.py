"""Where the model turns: pairs, bisection, crossings."""
