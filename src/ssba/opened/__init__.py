"""Models that can be opened, linear ones and trees: exact nearest answers, and bounds that prove them."""
