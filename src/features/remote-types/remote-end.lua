-- Records the end of begun work.
-- Must never record the end of another taker than the present one, nor a second end.
-- @include include-remote-work.lua
--
-- ARGV[1] id   ARGV[2] token   ARGV[3] channel   ARGV[4] message   ARGV[5] end, JSON
-- Returns { 'recorded' } (also for a repeat) | { 'cancelled' } | { 'lost' }.
local key = key_of(ARGV[1])
local record = redis.call('HMGET', key, 'state', 'token')
local state = record[1]
if not state or record[2] ~= ARGV[2] then
  return { 'lost' }
elseif state == 'ended' then
  return { 'recorded' }
elseif state == 'cancelled' then
  return { 'cancelled' }
elseif state ~= 'running' then
  return { 'lost' }
end
redis.call('HSET', key, 'state', 'ended', 'finish', ARGV[5])
redis.call('HDEL', key, 'body')
redis.call('ZREM', HELD, ARGV[1])
note_served(now_ms())
redis.call('PUBLISH', ARGV[3], ARGV[4])
return { 'recorded' }
