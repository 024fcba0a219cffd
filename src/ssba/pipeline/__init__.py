"""From queries to explanations, stage by stage: compile, search, verify, answer."""
