"""An agent with LangGraph. It keeps nothing, and knows nothing of Adjutant: OPENAI_BASE_URL and MCP_URL name a run."""

import asyncio
import os
import sys

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI

MODEL = os.environ.get("MODEL", "gpt-5")
MCP_URL = os.environ.get("MCP_URL", "http://127.0.0.1:7420/runs/order-4711/mcp")
TASK = sys.argv[1] if len(sys.argv) > 1 else "Refund the orders A and B."


async def main():
    host = MultiServerMCPClient({"tools": {"transport": "streamable_http", "url": MCP_URL}})
    agent = create_agent(ChatOpenAI(model=MODEL), await host.get_tools())
    state = await agent.ainvoke({"messages": [{"role": "user", "content": TASK}]})
    print(f"answer: {state['messages'][-1].text}", flush=True)


asyncio.run(main())
