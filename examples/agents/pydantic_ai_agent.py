"""An agent with Pydantic AI. It keeps nothing, and knows nothing of Adjutant: OPENAI_BASE_URL and MCP_URL name a run."""

import os
import sys

from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel

MODEL = os.environ.get("MODEL", "gpt-5")
MCP_URL = os.environ.get("MCP_URL", "http://127.0.0.1:7420/runs/order-4711/mcp")
TASK = sys.argv[1] if len(sys.argv) > 1 else "Refund the orders A and B."

agent = Agent(OpenAIChatModel(MODEL), toolsets=[MCPToolset(MCP_URL)])
print(f"answer: {agent.run_sync(TASK).output}", flush=True)
