"""How much room there is around an answer."""
