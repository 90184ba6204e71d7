-- Says what a worker allows of its lanes, by the clock of Redis.
-- Must never keep the list for ever: it goes a while after the last word of any worker.
--
-- KEYS[1] lane limits: hash of worker -> `<when it said so, milliseconds since the epoch> <limits, JSON>`
-- ARGV[1] worker   ARGV[2] limits, JSON   ARGV[3] expiry_ms
-- Returns { 'ok' }.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', now) .. ' ' .. ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return { 'ok' }
