-- Gives a claim back without an outcome: no failure is counted, and an attempt may be made at once, or after a pause.
-- Must never release a claim that somebody else took over.
-- @include include-record.lua
--
-- ARGV[1] directive id   ARGV[2] fence   ARGV[3] pause_ms before the next attempt (0 = none)
-- ARGV[4] 1 = readers have seen something of this attempt: it keeps its number, and the next one gets another
-- Returns { 'released' } | { 'cancelled' } | { 'ended' } | { 'stale' } | { 'unknown' }.
local id = ARGV[1]
local record = redis.call('HMGET', STATE, id .. '|status', id .. '|fence', id .. '|released', id .. '|cancel')
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
redis.call('HSET', STATE, id .. '|status', 'waiting', id .. '|next_attempt_at', int(now_ms() + tonumber(ARGV[3])),
  id .. '|released', int(tonumber(record[3] or '0') + unseen))
return { 'released' }
