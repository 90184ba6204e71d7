-- Remembers that lanes are used, by the clock of Redis.
-- Must never be left out before a lane gets its first key: what is not listed here is not cleaned up.
--
-- KEYS[1] lanes, sorted set of lanes -> when they were last used, milliseconds since the epoch   ARGV[1..] lanes
-- Returns { 'ok' }.
local time = redis.call('TIME')
local now = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
for index = 1, #ARGV do
  redis.call('ZADD', KEYS[1], now, ARGV[index])
end
return { 'ok' }
