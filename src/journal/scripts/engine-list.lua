-- Lists a channel on which an engine hears of starts, for a while.
-- Must never keep one whose engine has not listed it again: nobody may hear what is sent there.
--
-- KEYS[1] engines: sorted set of channels by when they were listed, milliseconds since the epoch
-- ARGV[1] channel   ARGV[2] for so many milliseconds
-- Returns { 'ok' }.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', now - tonumber(ARGV[2])))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return { 'ok' }
