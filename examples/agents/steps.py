"""A step of your own program: it runs once for each run, and gives its recorded result after a restart.

Usage: steps.py <address of the service> <run>
Needs nothing but Python. With keys, the key is in the variable ADJUTANT_KEY.
"""

import json
import os
import sys
import threading
import time
import urllib.request
import uuid

ADDRESS, RUN = sys.argv[1:3]
LEASE_MS = 30_000


def ask(path, body):
    headers = {"content-type": "application/json"}
    if "ADJUTANT_KEY" in os.environ:
        headers["authorization"] = f"Bearer {os.environ['ADJUTANT_KEY']}"
    request = urllib.request.Request(f"{ADDRESS}/v1/runs/{RUN}/{path}", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def step(key, function, effect="once"):
    """Runs `function`, whose result is JSON, unless the run has its result already."""
    begin = {"key": key, "effect": effect, "lease_ms": LEASE_MS, "token": uuid.uuid4().hex}
    while (state := ask("steps", begin))["state"] == "running":
        time.sleep(0.5)
    if state["state"] == "unknown":
        raise RuntimeError(f"the process of the step {key} died, and the step may have acted: decide about it")
    if state["state"] == "recorded":
        if "error" in state:
            raise RuntimeError(state["error"])
        return state.get("result")
    ended = threading.Event()

    def renew():
        while not ended.wait(LEASE_MS / 3_000):
            ask("steps", begin)

    threading.Thread(target=renew, daemon=True).start()
    end = {"key": key, "token": begin["token"]}
    try:
        result = function()
    except Exception as error:
        ask("steps/end", {**end, "error": str(error)[:4096]})
        raise
    finally:
        ended.set()
    ask("steps/end", {**end, "result": result})
    return result


print(step("roll", lambda: uuid.uuid4().hex, effect="idempotent"))
