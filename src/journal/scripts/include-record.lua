-- Shared by every journal script: the names of a request's keys, its clock and the append of a signal.
-- Must never touch a key outside KEYS: all three carry the request's hash tag, so a script runs in one slot.
--
-- KEYS[1] state   hash: request fields (seq, open, count, status, created_at, closed_at) and directive fields `<id>|<attribute>`
-- KEYS[2] bodies  hash: directive id -> envelope JSON, as accepted
-- KEYS[3] log     stream of signals, entry id `<sequence>-0`; its name is also the request's pub/sub channel
local STATE, BODIES, LOG = KEYS[1], KEYS[2], KEYS[3]
local REQUEST_ID = string.match(STATE, '{(.-)}')

-- Larger signals are announced by number only; the follower reads them from the log.
local MAX_PUBLISHED_BYTES = 65536

local function int(value)
  return string.format('%.0f', value)
end

-- Milliseconds since the epoch, by the server's clock.
local function now_ms()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local function is_terminal(status)
  return status == 'succeeded' or status == 'failed'
end

-- Appends signals (JSON objects without `sequence`) and announces each; returns the last sequence and announcement.
-- `closed` marks the last announcement: nothing follows until the request is opened again.
local function emit(signals, closed)
  local sequence, last = tonumber(redis.call('HGET', STATE, 'seq') or '0'), nil
  for index, signal in ipairs(signals) do
    sequence = sequence + 1
    local json = string.sub(signal, 1, -2) .. ',"sequence":' .. int(sequence) .. '}'
    redis.call('XADD', LOG, int(sequence) .. '-0', 'e', json)
    local flag = (closed and index == #signals) and 'c' or 'o'
    local payload = (#json <= MAX_PUBLISHED_BYTES) and json or ''
    last = int(sequence) .. ' ' .. flag .. ' ' .. payload
    redis.call('SPUBLISH', LOG, last)
  end
  redis.call('HSET', STATE, 'seq', int(sequence))
  return sequence, last
end

-- ARGV from `first` on, as a list.
local function rest(first)
  local values = {}
  for index = first, #ARGV do
    values[#values + 1] = ARGV[index]
  end
  return values
end

-- Writes a directive's terminal signals, tells the process that waits for them, and closes the request if it was the last one open.
local function end_directive(id, status, now, retention_ms, signals)
  local open = redis.call('HINCRBY', STATE, 'open', -1)
  local closed = open == 0
  local sequence, last = emit(signals, closed)
  local inbox = redis.call('HGET', STATE, id .. '|inbox')
  if inbox then
    redis.call('PUBLISH', inbox, REQUEST_ID .. '/' .. id .. ' ' .. last)
  end
  redis.call('HSET', STATE, id .. '|status', status, id .. '|ended_at', int(now), id .. '|terminal', int(sequence))
  redis.call('HDEL', STATE, id .. '|lease_until', id .. '|next_attempt_at')
  if closed then
    redis.call('HSET', STATE, 'status', 'closed', 'closed_at', int(now))
    redis.call('PEXPIRE', STATE, retention_ms)
    redis.call('PEXPIRE', BODIES, retention_ms)
    redis.call('PEXPIRE', LOG, retention_ms)
  end
  return sequence, closed
end
