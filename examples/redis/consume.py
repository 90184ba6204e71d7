"""Reads all signals of a tenant as one consumer of a group, and prints each as a line.

Usage: consume.py <redis url> <stream> <group> <consumer>, as in
  consume.py redis://127.0.0.1:6379 adjutant:signals printers printer-1
Needs the package `redis`, and `signals.stream` in adjutant.json.
"""

import json
import sys
import time

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

url, stream, group, consumer = sys.argv[1:5]
# A read blocks for 5 s, and the socket waits longer. The client must not repeat a read by itself: Redis counts the entries of an answer that was
# lost as delivered, and ">" does not return them.
client = redis.Redis.from_url(
    url, decode_responses=True, protocol=2, socket_timeout=30, retry=Retry(NoBackoff(), 0)
)

try:
    # "0": the group begins with the oldest entry; "$" begins with what comes from now on.
    client.xgroup_create(stream, group, id="0", mkstream=True)
except redis.ResponseError as error:
    if "BUSYGROUP" not in str(error):
        raise


def handle(fields):
    signal = json.loads(fields["signal"])
    ids = {name: fields[name] for name in ("request_id", "directive_id", "run_id", "type")}
    print(json.dumps({**ids, "sequence": int(fields["sequence"]), "id": signal["id"]}), flush=True)


# First the entries that this consumer had read and not acknowledged when it died or lost Redis, then new ones.
after = "0"
while True:
    try:
        answer = client.xreadgroup(group, consumer, {stream: after}, count=100, block=5_000)
        entries = answer[0][1] if answer else []
        for entry_id, fields in entries:
            # An entry that was trimmed before it was acknowledged has no fields: its signal is in the log of its request.
            if fields:
                handle(fields)
            client.xack(stream, group, entry_id)
        if after != ">":
            after = entries[-1][0] if entries else ">"
    except (redis.ConnectionError, redis.TimeoutError) as error:
        print(f"Redis does not answer: {error}", file=sys.stderr)
        after = "0"
        time.sleep(1)
