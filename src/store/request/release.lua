-- Gives a claim back without an outcome: no failure is counted, and an attempt may be made at once, or after a pause.
-- Must never release a claim that another worker took over.
-- @include include-wait.lua
-- @include include-claims.lua
--
-- ARGV[1] directive id   ARGV[2] fence   ARGV[3] pause_ms before the next attempt (0 = none)
-- ARGV[4] 1 = readers have seen something of this attempt: it keeps its number, and the next one gets another
-- ARGV[5] why it is given back, a word   ARGV[6] the most bytes of a request
-- ARGV[7] the signal that says so, JSON ('' = it is not said)
-- ARGV[8] 1 = the call is made anew: the task of this one is over
-- ARGV[9] 1 = the signal is written although one of its reason was   ARGV[10] stage from now on, opaque ('' = as before)
-- Returns { 'released' } | { 'cancelled' } | { 'ended' } | { 'stale' } | { 'unknown' }.
local id = ARGV[1]
local record = redis.call('HMGET', STATE, id .. '|status', id .. '|fence', id .. '|released', id .. '|cancel',
  id .. '|waits', 'seq', 'bytes', 'open', claim_field(id, ARGV[2]))
if not record[1] then
  return { 'unknown' }
elseif is_terminal(record[1]) then
  return { 'ended' }
elseif record[2] ~= ARGV[2] then
  return { 'stale' }
elseif record[1] == 'waiting' then
  return { 'released' }
elseif record[4] then
  return { 'cancelled' }
end
local unseen = (ARGV[4] == '1') and 0 or 1
local now = now_ms()
local next_attempt_at = int(now + tonumber(ARGV[3]))
local waiting = { id .. '|status', 'waiting', id .. '|next_attempt_at', next_attempt_at,
  id .. '|released', int(tonumber(record[3] or '0') + unseen) }
if ARGV[7] ~= '' then
  local request = { seq = tonumber(record[6] or '0'), bytes = record[7], open = record[8], limit = ARGV[6] }
  say_wait(waiting, id, record[5], ARGV[2], ARGV[5], next_attempt_at, request, 7, ARGV[9] == '1')
end
if ARGV[10] ~= '' then
  waiting[#waiting + 1] = id .. '|stage'
  waiting[#waiting + 1] = ARGV[10]
end
claim_ended(waiting, id, ARGV[2], record[9], now, ARGV[5], ARGV[3], 1 - unseen)
redis.call('HSET', STATE, unpack(waiting))
if ARGV[8] == '1' then
  redis.call('HDEL', STATE, id .. '|task')
end
return { 'released' }
