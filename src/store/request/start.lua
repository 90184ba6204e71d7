-- Reports the first attempt of a directive, whose claim came with its job, and extends that claim's lease; or asks, where the claim has
-- reported it, whether it may still begin.
-- Must never report it for a claim that was taken over or has run out, nor past the deadline, nor of what was cancelled before, nor
-- twice when a lost connection repeats the command.
-- @include include-record.lua
-- @include include-sweep.lua
--
-- KEYS[4] sweep index: such a claim is granted only where all keys are on one Redis
-- ARGV[1] directive id   ARGV[2] fence   ARGV[3] when the claim was granted, milliseconds since the epoch   ARGV[4] lease_ms
-- ARGV[5] signal, JSON ('' = none)   ARGV[6] deadline, milliseconds since the epoch
-- ARGV[7] 1 = its call has not begun, though its start may be written
-- Returns { 'started', now } | { 'stale' } | { 'cancelled' }: no worker gets another claim of it, and the holder of this one ends it.
local id = ARGV[1]
local record = redis.call('HMGET', STATE, id .. '|status', id .. '|fence', id .. '|started_at', 'seq', id .. '|lease_until', id .. '|cancel')
local fence, leased, began_at = record[2], record[5], record[3]
local now = now_ms()
local has_begun = began_at and ARGV[7] ~= '1'
-- @guard start-fence
if record[1] ~= 'running' or fence ~= ARGV[2] then
  return { 'stale' }
-- @guard start-lease
elseif tonumber(leased or '0') <= now then
  -- A process that reads it now may end it, and would report that no attempt was made.
  return { 'stale' }
-- @guard late-cancelled
elseif not has_begun and record[6] then
  return { 'cancelled' }
-- @guard start-deadline
elseif not has_begun and tonumber(ARGV[6]) <= now then
  -- Likewise, and the sweeper is to read it now.
  look_by(KEYS[4], request_id() .. '/' .. id, int(now))
  return { 'stale' }
end
-- @guard start-renews
local lease_until = int(now + tonumber(ARGV[4]))
look_by(KEYS[4], request_id() .. '/' .. id, lease_until)
local changed = { id .. '|lease_until', lease_until, id .. '|started_at', began_at or ARGV[3] }
-- @guard start-once
if not began_at then
  local last = (ARGV[5] ~= '') and 5 or 4
  changed[#changed + 1] = 'seq'
  changed[#changed + 1] = int((emit(tonumber(record[4] or '0'), 5, last, false)))
end
redis.call('HSET', STATE, unpack(changed))
return { 'started', int(now) }
