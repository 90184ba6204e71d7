-- The lanes whose gate is in use; one may be added, and one that is empty be dropped.
-- Must never drop a lane that somebody has just begun to use, nor list one for ever.
--
-- KEYS[1] sorted set of lanes, score = when each was noted last   ARGV[1] lane to note ('' = none)   ARGV[2] for how long one is listed at most, ms
-- ARGV[3] lane to drop ('' = none)   ARGV[4] unless it was noted within this time, ms
-- Returns { lane... }, at most 10,000.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
if ARGV[1] ~= '' then
  redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1])
end
if ARGV[3] ~= '' and now - tonumber(redis.call('ZSCORE', KEYS[1], ARGV[3]) or now) > tonumber(ARGV[4]) then
  redis.call('ZREM', KEYS[1], ARGV[3])
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - tonumber(ARGV[2])))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('ZRANGE', KEYS[1], 0, 9999)
