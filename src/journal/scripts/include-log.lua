-- The log of signals of a request, a Redis Stream: the only Lua that touches it. signal-log.ts is its other half.
-- Must never write a sequence twice; its callers keep the last one in the state.
local LOG = KEYS[3]

-- Larger signals are announced by their number alone; whoever follows the log reads them there.
local MAX_PUBLISHED_BYTES = 65536

-- Appends a signal, JSON with its sequence, and announces it. `closes`: nothing follows until the request is opened again.
-- Returns the announcement.
local function log_append(number, json, closes)
  redis.call('XADD', LOG, number .. '-0', 'e', json)
  local announcement = number .. (closes and ' c ' or ' o ') .. ((#json <= MAX_PUBLISHED_BYTES) and json or '')
  redis.call('SPUBLISH', LOG, announcement)
  return announcement
end

-- At most `count` signals after a sequence: { sequence, JSON } each.
local function log_after(sequence, count)
  local signals = {}
  for index, entry in ipairs(redis.call('XRANGE', LOG, '(' .. sequence .. '-0', '+', 'COUNT', count)) do
    signals[index] = { string.match(entry[1], '^%d+'), entry[2][2] }
  end
  return signals
end

-- The signal with a sequence, JSON; 'null' = there is none.
local function log_at(sequence)
  local entry = redis.call('XRANGE', LOG, sequence .. '-0', sequence .. '-0')[1]
  return entry and entry[2][2] or 'null'
end

local function log_expire(ms)
  redis.call('PEXPIRE', LOG, ms)
end

local function log_keep()
  redis.call('PERSIST', LOG)
end

