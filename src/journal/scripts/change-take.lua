-- Takes requests whose rows are due, each for one indexer, by putting them off.
-- Must never take one out: an indexer that dies now leaves it to the next one.
--
-- KEYS[1] changed requests: sorted set of request ids by when they are due
-- ARGV[1] the most that are taken   ARGV[2] hold_ms: how long nobody else takes them
-- Returns { when they are due again, as text, request ids... }.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
-- A half marks what an indexer has: a note is a whole number.
local held = string.format('%.1f', now + tonumber(ARGV[2]) + 0.5)
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now + 0.9, 'LIMIT', 0, tonumber(ARGV[1]))
local scored = {}
for index = 1, #due do
  scored[#scored + 1] = held
  scored[#scored + 1] = due[index]
end
if #scored > 0 then
  redis.call('ZADD', KEYS[1], unpack(scored))
end
return { held, unpack(due) }
