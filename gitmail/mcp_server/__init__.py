"""The MCP server; the only package that knows mcp and pydantic.

Importing it costs most of a second, so nothing else imports it at its top.
"""

from gitmail.mcp_server.stdio import serve

__all__ = ["serve"]
