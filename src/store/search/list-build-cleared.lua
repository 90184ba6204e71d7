-- Keeps the building of the list of requests for its holder, who has just removed a part of the old list; one that has lost it has removed
-- a part of what another one builds or has built, so that this begins again.
-- Must never leave a list complete, or go on with one, of which a part may be gone.
--
-- KEYS[1] the build, as in list-build-take.lua   ARGV[1] holder   ARGV[2] hold_ms
-- Returns { 1 = kept, 0 = lost }.
local holder, state, cursor = unpack(redis.call('HMGET', KEYS[1], 'holder', 'state', 'cursor'))
if holder == ARGV[1] then
  local time = redis.call('TIME')
  local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  redis.call('HSET', KEYS[1], 'held_until', string.format('%.0f', now + tonumber(ARGV[2])))
  return { 1 }
end
-- Who still removes the old list writes all of it afterwards, and keeps its place.
if state and (state ~= 'building' or cursor ~= '') then
  redis.call('HSET', KEYS[1], 'state', 'building', 'cursor', '', 'topology', '', 'found', 0, 'failed', 0)
  redis.call('HDEL', KEYS[1], 'holder', 'held_until')
end
return { 0 }
