-- Takes a lane that was removed off the list, unless it was used meanwhile.
-- Must never forget a lane that is used again: it would not be cleaned up.
--
-- KEYS[1] lanes, as in lane-note.lua   ARGV[1] lane   ARGV[2] idle_ms
-- Returns { 'forgotten' } | { 'used' }.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local used_at = redis.call('ZSCORE', KEYS[1], ARGV[1])
if used_at and tonumber(used_at) > now - tonumber(ARGV[2]) then
  return { 'used' }
end
redis.call('ZREM', KEYS[1], ARGV[1])
return { 'forgotten' }
