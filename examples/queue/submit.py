"""Submits a tool call through the queue `directives` with the Python package bullmq, and waits for its result.

REDIS_URL names the Redis of a running service; a service that asks for keys gets ADJUTANT_API_KEY.
"""

import asyncio
import json
import os

from bullmq import Job, Queue

PLACE = {
    "connection": os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"),
    "prefix": "{adjutant:queue}",
}


async def ended(queue: Queue, job_id: str) -> object:
    """The return value of the job, or the error envelope of its failure."""
    while True:
        job = await Job.fromId(queue, job_id)
        if job.finishedOn:
            return json.loads(job.failedReason) if job.failedReason else job.returnvalue
        await asyncio.sleep(0.1)


async def main() -> None:
    queue = Queue("directives", PLACE)
    directive = {"type": "tool_exec", "tool_name": "everything.get-sum", "arguments": {"a": 2, "b": 3}}
    token = os.environ.get("ADJUTANT_API_KEY")
    data = {**directive, "token": token} if token else directive
    options = {"attempts": 3, "backoff": {"type": "exponential", "delay": 200}}
    job = await queue.add("sum", data, options)

    print(json.dumps(await ended(queue, job.id)))
    await queue.close()


asyncio.run(main())
