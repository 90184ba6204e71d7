-- Lists a dead letter by the clock of Redis; one that is listed keeps its instant.
-- Must never let a repeat make a dead letter younger: it is kept as long as its request, which does not get younger either.
--
-- KEYS[1] dead letters, sorted set of entries -> when they were listed, milliseconds since the epoch
-- ARGV[1] entry   ARGV[2] the most entries; the oldest go
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('ZADD', KEYS[1], 'NX', string.format('%.0f', now), ARGV[1])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -tonumber(ARGV[2]) - 1)
return { 'ok' }
