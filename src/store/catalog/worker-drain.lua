-- Asks a process to take no more work, or takes that back; the process reads it with its next word.
-- Must never ask one that nobody knows: a name with a letter wrong would wait for ever.
--
-- KEYS[1] workers, as in worker-beat.lua   ARGV[1] id   ARGV[2] 1 = drain, 0 = work again
-- Returns { 'asked' } | { 'unknown' }.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return { 'unknown' }
end
local time = redis.call('TIME')
if ARGV[2] == '1' then
  local now = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
  redis.call('HSET', KEYS[1], 'drain:' .. ARGV[1], now)
else
  redis.call('HDEL', KEYS[1], 'drain:' .. ARGV[1])
end
return { 'asked' }
