"""The demo: two patients of the heart data."""
