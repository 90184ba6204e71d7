-- Reports the first attempt of a directive, whose claim came with its job, and extends that claim's lease.
-- Must never report it for a claim that was taken over or has run out, nor past the deadline, nor twice when a lost connection repeats
-- the command.
-- @include include-record.lua
-- @include include-sweep.lua
--
-- KEYS[4] sweep index: such a claim is granted only where all keys are on one Redis
-- ARGV[1] directive id   ARGV[2] fence   ARGV[3] when the claim was granted, milliseconds since the epoch   ARGV[4] lease_ms
-- ARGV[5] signal, JSON ('' = none)   ARGV[6] deadline, milliseconds since the epoch
-- Returns { 'started', now } | { 'stale' }.
local id = ARGV[1]
local record = redis.call('HMGET', STATE, id .. '|status', id .. '|fence', id .. '|started_at', 'seq', id .. '|lease_until')
local now = now_ms()
if record[1] ~= 'running' or record[2] ~= ARGV[2] then
  return { 'stale' }
elseif tonumber(record[5] or '0') <= now then
  -- Whoever looks at it now may end it, and would say that no attempt was made.
  return { 'stale' }
elseif not record[3] and tonumber(ARGV[6]) <= now then
  -- Likewise, and somebody is to look at it now.
  look_by(KEYS[4], request_id() .. '/' .. id, int(now), false)
  return { 'stale' }
end
local lease_until = int(now + tonumber(ARGV[4]))
look_by(KEYS[4], request_id() .. '/' .. id, lease_until, false)
local changed = { id .. '|lease_until', lease_until }
if not record[3] then
  local last = (ARGV[5] ~= '') and 5 or 4
  local sequence = emit(tonumber(record[4] or '0'), 5, last, false)
  changed = { changed[1], changed[2], id .. '|started_at', ARGV[3], 'seq', int(sequence) }
end
redis.call('HSET', STATE, unpack(changed))
return { 'started', int(now) }
