"""How fast: one figure a row, today's code beside commit 5fad16f, against what was set as the goal."""
