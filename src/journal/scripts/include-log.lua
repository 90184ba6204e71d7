-- The log of signals of a request: the only code that touches its key. signal-log.ts is its other half.
-- Must never write a sequence twice; its callers keep the last one in the state.
--
-- A list: the signal with sequence n is its nth entry. Redis gives the first node of a stream 4 KiB, and most logs have one
-- or two signals. What an earlier version began is a stream, entry id `<sequence>-0`, and stays one. A signal is a text as
-- stored-signal.ts writes it; the scripts call it JSON, and know of it that it ends with a brace.
-- @include include-keys.lua

-- Larger signals are announced by their number alone; whoever follows the log reads them there.
local MAX_PUBLISHED_BYTES = 65536

-- Appends a signal, JSON with its sequence, and announces it. `closes`: nothing follows until the request is opened again.
-- Returns the announcement.
local function log_append(number, json, closes)
  local length = redis.pcall('RPUSH', LOG, json)
  if length ~= tonumber(number) then
    -- It is a stream, or a list that is not this log from its beginning: then Redis has lost a key.
    if type(length) == 'number' then
      redis.call('DEL', LOG)
    end
    redis.call('XADD', LOG, number .. '-0', 'e', json)
  end
  local announcement = number .. (closes and ' c ' or ' o ') .. ((#json <= MAX_PUBLISHED_BYTES) and json or '')
  redis.call('SPUBLISH', LOG, announcement)
  return announcement
end

-- At most `count` signals after a sequence: { sequence, JSON } each.
local function log_after(sequence, count)
  local signals, first = {}, tonumber(sequence) + 1
  local texts = redis.pcall('LRANGE', LOG, string.format('%.0f', first - 1), string.format('%.0f', first + count - 2))
  if not texts.err then
    for index = 1, #texts do
      signals[index] = { first + index - 1, texts[index] }
    end
    return signals
  end
  for index, entry in ipairs(redis.call('XRANGE', LOG, '(' .. sequence .. '-0', '+', 'COUNT', count)) do
    signals[index] = { string.match(entry[1], '^%d+'), entry[2][2] }
  end
  return signals
end

-- The signal with a sequence, JSON; 'null' = there is none.
local function log_at(sequence)
  local entry = log_after(tonumber(sequence) - 1, 1)[1]
  return entry and tonumber(entry[1]) == tonumber(sequence) and entry[2] or 'null'
end

local function log_expire(ms)
  redis.call('PEXPIRE', LOG, ms)
end

local function log_keep()
  redis.call('PERSIST', LOG)
end

