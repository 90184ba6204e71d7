"""An agent with OpenAI's Agents SDK. It keeps nothing, and knows nothing of Adjutant: OPENAI_BASE_URL and MCP_URL name a run."""

import asyncio
import os
import sys

from agents import Agent, Runner
from agents.mcp import MCPServerStreamableHttp

MODEL = os.environ.get("MODEL", "gpt-5")
MCP_URL = os.environ.get("MCP_URL", "http://127.0.0.1:7420/runs/order-4711/mcp")
TASK = sys.argv[1] if len(sys.argv) > 1 else "Refund the orders A and B."


async def main():
    params = {"url": MCP_URL, "timeout": 60}
    async with MCPServerStreamableHttp(params=params, client_session_timeout_seconds=60) as host:
        agent = Agent(name="Refunds", instructions="Refund what the user names.", model=MODEL, mcp_servers=[host])
        result = await Runner.run(agent, TASK, max_turns=30)
        print(f"answer: {result.final_output}", flush=True)


asyncio.run(main())
