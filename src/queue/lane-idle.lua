-- Names lanes that nobody has used for a while, the oldest first.
-- Must never write.
--
-- KEYS[1] lanes, as in lane-note.lua   ARGV[1] idle_ms   ARGV[2] the most to name
-- Returns the lanes.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - tonumber(ARGV[1])),
  'LIMIT', 0, tonumber(ARGV[2]))
