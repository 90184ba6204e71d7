"""A worker of directive types that a test kills. Each handler appends a line to a file when it begins and when it ends.

Usage: work.py <address of a service> <folder of the file>. A directive with `hold` ends when the folder has a file of that name.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any, Optional

from pydantic import BaseModel

from adjutant_client import AsyncClient, Work, Worker, WorkFailed


class Task(BaseModel):
    key: str
    hold: Optional[str] = None
    fails: int = 0


async def main(url: str, folder: Path) -> None:
    def note(text: str) -> None:
        with open(folder / "work.log", "a") as log:
            log.write(f"{text}\n")

    async def execute(work: Work[Task]) -> Any:
        task = work.directive
        note(f"begin {task.key}")
        try:
            while task.hold is not None and not (folder / task.hold).exists():
                await asyncio.sleep(0.02)
        except asyncio.CancelledError:
            note(f"cancelled {task.key}")
            raise
        if work.attempt <= task.fails:
            raise WorkFailed("network", "The other side is away", retryable=True)
        note(f"end {task.key}")
        return {"key": task.key, "attempt": work.attempt, "id": work.id}

    async with AsyncClient(url) as client:
        worker = Worker(client)
        for type in ("pay", "pay-fast", "tally"):
            worker.directive(type, Task)(execute)
        print("works", flush=True)
        await worker.run()
    print("stopped", flush=True)


asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
