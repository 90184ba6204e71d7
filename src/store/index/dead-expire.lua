-- Drops the dead letters whose requests are no longer readable, by the clock of Redis.
-- Must never hold Redis up: a long list goes in portions.
--
-- KEYS[1] dead letters   ARGV[1] retention_ms   ARGV[2] the most to drop in one go
-- Returns { how many were dropped }.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local before = '(' .. string.format('%.0f', now - tonumber(ARGV[1]))
local old = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', before, 'LIMIT', 0, tonumber(ARGV[2]))
if #old > 0 then
  redis.call('ZREM', KEYS[1], unpack(old))
end
return { #old }
