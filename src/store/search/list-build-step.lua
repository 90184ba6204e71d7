-- Writes how far the building of the list of requests is, and keeps it for its holder.
-- Must never write for one that has lost it: another one may be elsewhere, or somebody has asked for a new one.
--
-- KEYS[1] the build, as in list-build-take.lua   ARGV[1] holder   ARGV[2] hold_ms, 0 = it is over or given back
-- ARGV[3..] fields and their values; none = it is only kept
-- Returns { 1 = written, 0 = lost }.
if redis.call('HGET', KEYS[1], 'holder') ~= ARGV[1] then
  return { 0 }
end
if #ARGV > 2 then
  redis.call('HSET', KEYS[1], unpack(ARGV, 3))
end
if ARGV[2] == '0' then
  redis.call('HDEL', KEYS[1], 'holder', 'held_until')
else
  local time = redis.call('TIME')
  local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  redis.call('HSET', KEYS[1], 'held_until', string.format('%.0f', now + tonumber(ARGV[2])))
end
return { 1 }
