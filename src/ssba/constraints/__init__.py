"""What is allowed: the language of constraints, the regions they leave, and looser ones."""
