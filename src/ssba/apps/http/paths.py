"""Paths beside those of the API itself."""

HEALTH = "/healthz"
METRICS = "/metrics"
MCP = "/mcp"
PAGE = "/"
PAGE_FILES = "/page/"
