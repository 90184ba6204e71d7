-- Ends a directive: appends its last signals once, and closes the request if nothing else is open.
-- Must never end a directive twice, nor for a worker whose claim was taken over.
-- @include include-claims.lua
-- @include include-questions.lua
-- @include include-sweep.lua
--
-- KEYS[4] sweep index, where the engine of the run's last turn may be told (absent = the caller wakes the run)
-- ARGV[1] directive id   ARGV[2] fence ('' = on the service's own authority, e.g. past the deadline)
-- ARGV[3] succeeded | failed   ARGV[4] retention_ms
-- ARGV[5] 1 = this claim was used for no attempt   2 = its attempt leaves a task behind   0 = otherwise, and its task is over
-- ARGV[6] the most bytes of a request   ARGV[7..] signals, JSON, the terminal one last
-- Returns { 'ended', sequence, closed 0|1, run, now, 1 = the run has nothing else to read, 1 = its engine was told }
--   | { 'already', status, terminal sequence, run } | { 'stale' } | { 'unknown' }
--   | { 'no_room', bytes that the request holds }: a smaller end, of END_BYTES at most, is written in any case;
--   run: the version of the run that goes on from here (-1 = none)

-- An engine that was told and has done nothing for so long is gone, or hangs.
local TOLD_MS = 5000
local id, fence = ARGV[1], ARGV[2]
local record = redis.call('HMGET', STATE, id .. '|status', id .. '|fence', id .. '|terminal', id .. '|inbox', 'open', 'seq',
  RUN_INBOX, '@run|version', 'bytes', id .. '|asked', id .. '|task', '@run|engine')
local run = record[7] and tonumber(record[8]) or -1
if not record[1] then
  return { 'unknown' }
elseif is_terminal(record[1]) then
  return { 'already', record[1], tonumber(record[3]), run }
elseif fence ~= '' and fence ~= record[2] then
  return { 'stale' }
end
local bytes = bytes_of_signals(7, #ARGV)
if bytes > END_BYTES and not has_room(bytes, record[9], tonumber(record[5]) - 1, ARGV[6]) then
  return { 'no_room', tonumber(record[9]) }
end
local facts = { open = tonumber(record[5]), seq = tonumber(record[6] or '0'), inbox = record[4], run = record[7],
  engine = KEYS[4] and record[7] and record[12], version = run }
local now = now_ms()
if ARGV[5] == '1' then
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
if record[10] then
  forget_round(id, record[10])
end
if record[11] and fence ~= '' and ARGV[5] == '0' then
  redis.call('HDEL', STATE, id .. '|task')
end
local sequence, closed = end_directive(id, ARGV[3], now, ARGV[4], facts, 7, #ARGV)
if facts.told then
  look_by(KEYS[4], request_id() .. '/@run', int(now + TOLD_MS), true)
end
return { 'ended', sequence, closed and 1 or 0, run, int(now), (record[7] == '') and 1 or 0, facts.told and 1 or 0 }
