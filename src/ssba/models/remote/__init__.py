"""A model behind an HTTP endpoint: its address, the rows that are sent, the answers that come back."""
