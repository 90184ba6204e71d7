-- Records a failed attempt that will be repeated: the claim ends here, before the job is delayed. The next attempt may
-- be another candidate of the directive, and that in another lane.
-- It makes the call anew: the task of this one is over.
-- Must never count a failure for a worker whose claim was taken over.
-- @include include-claims.lua
--
-- ARGV[1] directive id   ARGV[2] fence   ARGV[3] delay_ms
-- ARGV[4] stage from now on, opaque ('' = as before)   ARGV[5] lane from now on ('' = as before)
-- ARGV[6] the most bytes of a request: what does not fit is not said   ARGV[7..] signals, JSON
-- Returns { 'waiting', next_attempt_at } | { 'cancelled' } | { 'ended' } | { 'stale' } | { 'unknown' }.
local id = ARGV[1]
local record = redis.call('HMGET', STATE, id .. '|status', id .. '|fence', id .. '|next_attempt_at', id .. '|cancel',
  id .. '|failures', 'seq', 'bytes', 'open', claim_field(id, ARGV[2]), id .. '|task')
if not record[1] then
  return { 'unknown' }
elseif is_terminal(record[1]) then
  return { 'ended' }
elseif record[2] ~= ARGV[2] then
  return { 'stale' }
elseif record[4] then
  return { 'cancelled' }
elseif record[1] == 'waiting' then
  return { 'waiting', record[3] }
end
local now = now_ms()
local next_attempt_at = int(now + tonumber(ARGV[3]))
local last = has_room(bytes_of_signals(7, #ARGV), record[7], record[8], ARGV[6]) and #ARGV or 6
local sequence = emit(tonumber(record[6] or '0'), 7, last, false)
local waiting = { id .. '|status', 'waiting', id .. '|next_attempt_at', next_attempt_at,
  id .. '|failures', int(tonumber(record[5] or '0') + 1), 'seq', int(sequence) }
if ARGV[4] ~= '' then
  waiting[#waiting + 1] = id .. '|stage'
  waiting[#waiting + 1] = ARGV[4]
end
if ARGV[5] ~= '' then
  waiting[#waiting + 1] = id .. '|lane'
  waiting[#waiting + 1] = ARGV[5]
end
claim_ended(waiting, id, ARGV[2], record[9], now, (ARGV[4] ~= '') and 'fallback' or 'retry', ARGV[3], 1)
redis.call('HSET', STATE, unpack(waiting))
if record[10] then
  redis.call('HDEL', STATE, id .. '|task')
end
return { 'waiting', next_attempt_at }
