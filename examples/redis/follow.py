"""Prints the signals of a request as CloudEvents, one JSON object a line: those in its log, then new ones, until it is closed.

Usage: follow.py <redis url> <request id> [prefix of the installation]
Needs the package `redis`.
"""

import json
import sys

import redis

url, request_id = sys.argv[1:3]
prefix = sys.argv[3] if len(sys.argv) > 3 else "adjutant"
# The key of the list is the name of the channel.
log = f"{prefix}:{{{request_id}}}:log"
client = redis.Redis.from_url(url, decode_responses=True, protocol=2)


def show(entry):
    left_out = {"specversion": "1.0", "subject": request_id, "datacontenttype": "application/json"}
    print(json.dumps({**left_out, **entry}), flush=True)


def read_after(sequence):
    """The entries of the log after a sequence; `null` is an entry that Redis has lost."""
    for text in client.lrange(log, sequence, -1):
        entry = json.loads(text)
        if entry is not None:
            show(entry)
            sequence = entry["sequence"]
    return sequence


# Subscribed before the log is read, so that no signal is missed between the two.
channel = client.pubsub()
channel.ssubscribe(log)
# The first message is the confirmation of Redis.
channel.get_message(timeout=5)
last = read_after(0)
state = f"{prefix}:{{{request_id}}}:state"
is_closed = client.hget(state, "status") == "closed"
while not is_closed:
    # A message may be lost on its way, so the log is read again after a silence.
    message = channel.get_message(timeout=5)
    announced = json.loads(message["data"]) if message else {}
    if not message or announced.get("sequence", 0) > last:
        last = read_after(last)
    is_closed = announced.get("closed", False) or client.hget(state, "status") == "closed"
last = read_after(last)
