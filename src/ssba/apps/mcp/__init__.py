"""The Model Context Protocol: tools, resources and a prompt with which language models ask the service."""

from ssba.apps.mcp.server import build_server, mcp_app, serve_stdio, take_stdout

__all__ = ["build_server", "mcp_app", "serve_stdio", "take_stdout"]
