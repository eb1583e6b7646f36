"""Tools: what an agent can do. `@tool` makes one of a Python function, `Toolset` is the collection a tenant uses.

Nothing heavy is imported here; pydantic is loaded when the first function is decorated.
"""

from circumspect.tools.functions import FunctionTool, IdempotencyKey, tool
from circumspect.tools.tool_context import ToolContext
from circumspect.tools.toolset import Tool, Toolset

__all__ = ["FunctionTool", "IdempotencyKey", "Tool", "ToolContext", "Toolset", "tool"]
