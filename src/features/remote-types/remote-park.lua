-- Parks the work of an attempt for remote programs; the same id again finds what became of it.
-- Must never park work of which an attempt was told that it is absent, nor work whose deadline has passed.
-- @include include-remote-work.lua
--
-- ARGV[1] id   ARGV[2] deadline, milliseconds since the epoch   ARGV[3] how long the work is kept after it, milliseconds
-- ARGV[4] channel   ARGV[5] message   ARGV[6] effect   ARGV[7] lease, milliseconds   ARGV[8] body   ARGV[9] attempt
-- Without ARGV[4] nothing is parked.
-- Returns { 'state', state, 'finish', JSON, 'begun', how often, 'attempt', in which it was parked, 'parked', 1: this call has parked it,
--   'served', 1: a program executes the type }; 'absent': there is no such work.
local id = ARGV[1]
local key = key_of(id)
local state = settled(id)
local left = tonumber(ARGV[2]) - now_ms()
local kept = int(math.max(0, left) + tonumber(ARGV[3]))
local parked = 0
if not state and not ARGV[4] then
  forbid(id, kept)
  state = 'absent'
elseif not state then
  state = left > 0 and 'waiting' or 'cancelled'
  redis.call('HSET', key, 'state', state, 'token', '', 'begun', 0, 'effect', ARGV[6], 'lease', ARGV[7], 'deadline', ARGV[2],
    'attempt', ARGV[9])
  redis.call('PEXPIRE', key, kept)
  if state == 'waiting' then
    redis.call('HSET', key, 'body', ARGV[8])
    enqueue('RPUSH', id)
    redis.call('PUBLISH', ARGV[4], ARGV[5])
    parked = 1
  end
end
local record = redis.call('HMGET', key, 'finish', 'begun', 'attempt')
return { 'state', state, 'finish', record[1] or '', 'begun', record[2], 'attempt', record[3] or '0', 'parked', parked,
  'served', redis.call('EXISTS', SERVED) }
