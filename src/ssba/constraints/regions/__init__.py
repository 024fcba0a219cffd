"""The regions that constraints leave to one query, and the nearest rows in them."""
