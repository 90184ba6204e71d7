-- The end of a directive, shared by the scripts that write one: its last signals once, and the request closed if nothing else is open.
-- Must never end a directive twice, nor for a worker whose claim was taken over.
-- @include include-claims.lua
-- @include include-questions.lua

-- Ends the claim of a directive that ends. `how`: see `finish_directive`.
local function end_claim(id, fence, how, record, now)
  if how == '1' then
    redis.call('HINCRBY', STATE, id .. '|released', 1)
    local unused = {}
    claim_ended(unused, id, fence, redis.call('HGET', STATE, claim_field(id, fence)), now, 'unused', 0, 0)
    redis.call('HSET', STATE, unpack(unused))
  elseif fence == '' and record[1] == 'running' then
    local lease_until = tonumber(redis.call('HGET', STATE, id .. '|lease_until') or '0')
    if lease_until <= now then
      local ended = {}
      claim_lost(ended, id, record[2], lease_until)
      redis.call('HSET', STATE, unpack(ended))
    end
  end
end

local function may_have_begun(id, status, now)
  local started_at, lease_until = unpack(redis.call('HMGET', STATE, id .. '|started_at', id .. '|lease_until'))
  return started_at or (status == 'running' and tonumber(lease_until or '0') > now)
end

-- `ending`: fence ('' = on the service's own authority, e.g. past the deadline), status: succeeded | failed, retention_ms,
--   how: '1' = this claim was used for no attempt, '2' = its attempt leaves a task behind, '3' = only if it has not begun,
--   '0' = otherwise, and its task is over,
--   request_bytes: the most of a request
-- `first`, `last`: where in ARGV its signals are, JSON, the terminal one last
-- Returns by name: kind: ended, with sequence, closed 0|1, run | already, with status, terminal: its sequence, run | stale | unknown
--   | no_room, with bytes that the request holds: a smaller end, of END_BYTES at most, is written in any case
--   run: the version of the run that goes on from here (-1 = none), which ended and already return alone as well
local function finish_directive(id, ending, now, first, last)
  local fence = ending.fence
  local record = redis.call('HMGET', STATE, id .. '|status', id .. '|fence', id .. '|inbox', 'open', 'seq', RUN_INBOX, 'bytes',
    id .. '|asked', id .. '|task')
  local run = record[6] and tonumber(redis.call('HGET', STATE, '@run|version') or '-1') or -1
  if not record[1] then
    return { 'kind', 'unknown' }
  elseif is_terminal(record[1]) then
    return { 'kind', 'already', 'status', record[1], 'terminal', tonumber(redis.call('HGET', STATE, id .. '|terminal')), 'run', run }, run
  -- @guard fencing
  elseif fence ~= '' and fence ~= record[2] then
    return { 'kind', 'stale' }
  elseif ending.how == '3' and may_have_begun(id, record[1], now) then
    return { 'kind', 'stale' }
  end
  local bytes = bytes_of_signals(first, last)
  if bytes > END_BYTES and not has_room(bytes, record[7], tonumber(record[4]) - 1, ending.request_bytes) then
    return { 'kind', 'no_room', 'bytes', tonumber(record[7]) }
  end
  local facts = { open = tonumber(record[4]), seq = tonumber(record[5] or '0'), inbox = record[3], run = record[6],
    bytes = tonumber(record[7] or '0') }
  end_claim(id, fence, ending.how, record, now)
  if record[8] then
    forget_round(id, record[8])
  end
  if record[9] and fence ~= '' and ending.how == '0' then
    redis.call('HDEL', STATE, id .. '|task')
  end
  local sequence, closed = end_directive(id, ending.status, now, ending.retention_ms, facts, first, last)
  return { 'kind', 'ended', 'sequence', sequence, 'closed', closed and 1 or 0, 'run', run }, run
end
