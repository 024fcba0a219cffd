"""Ways in other than Python."""
