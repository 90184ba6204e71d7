-- Takes requests whose rows are due, each for one indexer, by putting them off.
-- Must never take one out: an indexer that dies now leaves it to the next one.
--
-- KEYS[1] changed requests: sorted set of request ids by when they are due
-- KEYS[2] holds: sorted set of the scores of what indexers have taken, as text, by when the oldest of it was due first
-- ARGV[1] the most that are taken   ARGV[2] hold_ms: how long nobody else takes them
-- Returns { when they are due again, as text, request ids... }.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
-- A half marks what an indexer has: a note is a whole number.
local held = string.format('%.1f', now + tonumber(ARGV[2]) + 0.5)
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now + 0.9, 'WITHSCORES', 'LIMIT', 0, tonumber(ARGV[1]))
local reply, scored, oldest = { held }, {}, nil
for index = 1, #due, 2 do
  local score = tonumber(due[index + 1])
  -- Taken before by an indexer that has died.
  if score % 1 ~= 0 then
    score = tonumber(redis.call('ZSCORE', KEYS[2], string.format('%.1f', score)) or score)
  end
  oldest = (oldest and oldest < score) and oldest or score
  reply[#reply + 1] = due[index]
  scored[#scored + 1] = held
  scored[#scored + 1] = due[index]
end
if oldest then
  redis.call('ZADD', KEYS[1], unpack(scored))
  redis.call('ZADD', KEYS[2], 'LT', string.format('%.0f', oldest), held)
end
-- What was taken with it is written, or noted anew.
for _, hold in ipairs(redis.call('ZRANGE', KEYS[2], 0, 3)) do
  if redis.call('ZCOUNT', KEYS[1], hold, hold) == 0 then
    redis.call('ZREM', KEYS[2], hold)
  end
end
return reply
