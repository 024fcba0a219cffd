"""The exact nearest of many stored points."""
