"""How near are the answers of ssba, and of its peers, to the nearest row there is? See `__main__.py`."""
