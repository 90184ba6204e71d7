-- Shared by every journal script: the names of a request's keys, its clock and the append of a signal.
-- Must never touch a key outside KEYS, but where all keys are on one Redis: all three carry the request's hash tag, so a script
-- runs in one slot.
--
-- KEYS[1] state   hash: request fields (seq, open, count, status, created_at, closed_at), directive fields
--                 `<id>|<attribute>`, and fields of the request's run `@run|<attribute>`
-- KEYS[2] bodies  hash: directive id -> envelope JSON, as accepted; `@run` -> the run's document, `@spec` -> its start, with its agent and tools;
--                 `@payload|<id>` -> a payload that is too large for the log, JSON; of a large one the number of its parts, which
--                 are in `@payload|<id>|<index>`
-- KEYS[3] log     list of signals, as include-log.lua says; its name is also the request's pub/sub channel
--
-- A script reads with one HMGET and writes with one HSET where it can: each call costs about a microsecond of the one
-- core that Redis has, and another line of the append-only file.
-- @include include-log.lua

-- The field `bytes` of the state: what the request's keys and payloads hold, about. Each script counts what it writes
-- together with writing it, so that the sum cannot drift.
-- What the log adds to a signal, and what the state holds of a run, or something said to one.
local ENTRY_BYTES, RECORD_BYTES = 64, 512
-- Room that is kept for each open thing, so that its end fits whatever the rest has taken. An end that is no larger is
-- written in any case.
local END_BYTES = 5120

local function grow(bytes)
  redis.call('HINCRBY', STATE, 'bytes', string.format('%.0f', bytes))
end

-- Whether `more` bytes may be written to a request that holds `bytes` and has `open` things to end.
local function has_room(more, bytes, open, limit)
  return tonumber(bytes or '0') + more + tonumber(open or '0') * END_BYTES <= tonumber(limit)
end

-- Adds to `changed`, fields and values to be written, the claim of a directive. `started_at`: nil or false = it is not to be written.
local function add_claim(changed, id, fence, lease_until, claimant, started_at)
  for name, value in pairs({ fence = fence, lease_until = lease_until, claimant = claimant, started_at = started_at or nil }) do
    changed[#changed + 1] = id .. '|' .. name
    changed[#changed + 1] = value
  end
end

-- Bytes of ARGV from `first` to `last` as signals.
local function bytes_of_signals(first, last)
  local bytes = 0
  for index = first, last do
    bytes = bytes + #ARGV[index] + ENTRY_BYTES
  end
  return bytes
end

-- What the request's run has not read yet, as sequences: '12,57,'. There while the run has not ended, and only then.
local RUN_INBOX = '@run|inbox'

-- Appends a signal, JSON without its sequence, after the sequence `before`. Returns its sequence and its announcement.
local function emit_text(before, json, closes)
  local number = int(before + 1)
  return before + 1, log_append(number, string.sub(json, 1, -2) .. ',"sequence":' .. number .. '}', closes)
end

-- Appends signals (ARGV from `first` on, JSON objects without `sequence`) after the sequence `before`, and announces
-- each. The caller writes the returned sequence back to the state. `closed` marks the last announcement: nothing
-- follows until the request is opened again. `counted`: the caller writes what the request holds. Returns the last sequence
-- and its announcement.
local function emit(before, first, last, closed, counted)
  local sequence, announcement = before, nil
  if last >= first and not counted then
    grow(bytes_of_signals(first, last))
  end
  for index = first, last do
    sequence, announcement = emit_text(sequence, ARGV[index], closed and index == last)
  end
  return sequence, announcement
end

-- What is remembered of a key is kept so much longer than what was submitted under it can be read.
local KEY_KEPT_MS = 3600000

-- The key under which the request was submitted, and its part, as include-once.lua has them; nil = under none.
local function key_of_request()
  if string.find(STATE, '}.', 1, true) then
    return string.match(STATE, '^(.-{.-})%.(.-)}:state$')
  end
end

-- What counts under the key has ended. The end may come a year before it was to begin.
local function key_ended(retention_ms)
  local key, part = key_of_request()
  -- @guard once-kept
  if key and redis.call('HGET', key .. ':once', 'part') == part then
    redis.call('PEXPIRE', key .. ':once', int(tonumber(retention_ms) + KEY_KEPT_MS))
  end
end

-- Nothing is open any more; what follows opens the request again.
local function close_request(now, retention_ms, ...)
  redis.call('HSET', STATE, 'status', 'closed', 'closed_at', int(now), ...)
  redis.call('PEXPIRE', STATE, retention_ms)
  redis.call('PEXPIRE', BODIES, retention_ms)
  redis.call('PEXPIRE', LOG, retention_ms)
  key_ended(retention_ms)
end

-- Ends a directive: appends its last signals (ARGV from `first` to `last`), tells the process that waits for it and the
-- run that goes on from it, and closes the request if nothing else is open. `facts`: open, seq, inbox (false = none),
-- run (the RUN_INBOX, false = none; it grows by the terminal signal), bytes that the request holds (nil = unknown).
local function end_directive(id, status, now, retention_ms, facts, first, last)
  local open = facts.open - 1
  local sequence, announcement = emit(facts.seq, first, last, open == 0, facts.bytes)
  local number = int(sequence)
  local ended = { id .. '|status', status, id .. '|ended_at', int(now), id .. '|terminal', number, 'seq', number, 'open', int(open) }
  if facts.bytes then
    facts.bytes = facts.bytes + bytes_of_signals(first, last)
    ended[#ended + 1] = 'bytes'
    ended[#ended + 1] = int(facts.bytes)
  end
  if facts.inbox then
    redis.call('PUBLISH', facts.inbox, request_id() .. '/' .. id .. ' ' .. announcement)
  end
  if facts.run then
    facts.run = facts.run .. number .. ','
    -- @guard end-reaches-run +1
    ended[#ended + 1] = RUN_INBOX
    ended[#ended + 1] = facts.run
  end
  if open == 0 then
    close_request(now, retention_ms, unpack(ended))
    return sequence, true
  end
  redis.call('HSET', STATE, unpack(ended))
  return sequence, false
end
