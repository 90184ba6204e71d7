-- Says that a process is there and what it does, by the clock of Redis; answers whether it shall take no more work.
-- Must never keep the list for ever: it goes a while after the last word of any process.
--
-- KEYS[1] workers: hash of id -> `<when it said so, milliseconds since the epoch> <what it does, JSON>`, and of
--         `drain:<id>` -> when that was last confirmed
-- ARGV[1] id   ARGV[2] what it does, JSON   ARGV[3] expiry_ms
-- Returns { 1 = it shall take no more work }.
local time = redis.call('TIME')
local now = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
local draining = redis.call('HEXISTS', KEYS[1], 'drain:' .. ARGV[1])
redis.call('HSET', KEYS[1], ARGV[1], now .. ' ' .. ARGV[2])
if draining == 1 then
  redis.call('HSET', KEYS[1], 'drain:' .. ARGV[1], now)
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return { draining }
