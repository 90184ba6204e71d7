-- What appends to the log of signals of a request; include-log-read.lua reads it. signal-log.ts is its other half, docs/redis.md describes
-- the key for other programs. Must never write a sequence twice; its callers keep the last one in the state.
--
-- A list: the signal with sequence n is its nth entry, JSON as stored-signal.ts writes it. The scripts know of it that it ends with
-- a brace.
-- @include include-keys.lua

-- Larger signals are announced by their number alone; whoever follows the log reads them there.
local MAX_PUBLISHED_BYTES = 65536

-- Adds a signal to the stream of all signals; nil = `signals.stream` is not configured.
local stream_append
-- @signals-stream

-- Redis has lost the log, or its state: `null` stands for each lost entry, so that the nth entry has sequence n again.
local LOST_AT_ONCE = 1000
local function log_begin_anew(number, json)
  redis.call('DEL', LOG)
  for first = 1, number - 1, LOST_AT_ONCE do
    local lost = {}
    for index = first, math.min(first + LOST_AT_ONCE, number) - 1 do
      lost[#lost + 1] = 'null'
    end
    redis.call('RPUSH', LOG, unpack(lost))
  end
  redis.call('RPUSH', LOG, json)
end

-- Appends a signal, JSON with its sequence, and publishes it. `closes`: nothing follows until the request is opened again.
-- Returns what was published: the entry, with `"closed":true` if it closes; of a large one the sequence alone.
local function log_append(number, json, closes)
  if redis.call('RPUSH', LOG, json) ~= tonumber(number) then
    log_begin_anew(tonumber(number), json)
  end
  if stream_append then
    stream_append(number, json)
  end
  local announcement = (#json <= MAX_PUBLISHED_BYTES) and json or '{"sequence":' .. number .. '}'
  if closes then
    announcement = string.sub(announcement, 1, -2) .. ',"closed":true}'
  end
  redis.call('SPUBLISH', LOG, announcement)
  return announcement
end
