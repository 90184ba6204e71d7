"""Starts a run, and prints the sequence of each of its signals as it arrives, then the text of its model.

Usage: follow.py <address of a service> <agent> <query>. A test kills the service meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import sys

from adjutant_client import AsyncClient
from adjutant_client.models import SignalRequestCompleted
from adjutant_client.text import TextReader


async def main(url: str, agent: str, query: str) -> None:
    text, result, reader = "", None, TextReader()
    async with AsyncClient(url) as client:
        started = await client.runs.start({"agent": agent, "query": query})
        print(started.request_id, flush=True)
        async for signal in client.follow(started.request_id):
            print(signal.sequence, flush=True)
            for event in reader.read(signal):
                text = "" if event.kind == "restart" else text + event.text
            if isinstance(signal, SignalRequestCompleted):
                result = signal.data.result
    print(json.dumps({"text": text, "result": result}), flush=True)


asyncio.run(main(*sys.argv[1:4]))
