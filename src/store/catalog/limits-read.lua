-- Reads what the workers that are there allow of their lanes, and drops those that are gone.
-- Must never drop a worker that has spoken meanwhile: it is judged and dropped in one step, by the clock of Redis.
--
-- KEYS[1] lane limits, as in limits-announce.lua   ARGV[1] gone_after_ms
-- Returns the limits, JSON each.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local entries, limits = redis.call('HGETALL', KEYS[1]), {}
for index = 1, #entries, 2 do
  local said_at, json = string.match(entries[index + 1], '^(%d+) (.*)$')
  if said_at and now - tonumber(said_at) < tonumber(ARGV[1]) then
    limits[#limits + 1] = json
  else
    redis.call('HDEL', KEYS[1], entries[index])
  end
end
return limits
