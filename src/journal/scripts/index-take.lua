-- Takes what is due out of the sweep index, each entry for one sweeper, by putting it off a little.
-- Must never take an entry out for good: a sweeper that dies now leaves all it took to the next one.
--
-- KEYS[1] sweep index: sorted set `<request>/<directive>` by when to look
-- ARGV[1] limit   ARGV[2] hold_ms: how long nobody else looks at what is taken here
-- Returns { now, { member, its score from now on, its mark }... }; all but the members are numbers as text.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
-- An eighth in the score marks what a sweeper has taken: nothing else writes such a score.
local held = now + tonumber(ARGV[2]) + 0.125
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now + 0.999, 'WITHSCORES', 'LIMIT', 0, ARGV[1])
local taken = { string.format('%.0f', now) }
for index = 1, #due, 2 do
  local before = tonumber(due[index + 1])
  -- Halves and quarters are the marks of the index itself.
  local mark = math.floor((before - math.floor(before)) * 4) / 4
  local score = string.format('%.3f', held + mark)
  redis.call('ZADD', KEYS[1], score, due[index])
  taken[#taken + 1] = due[index]
  taken[#taken + 1] = score
  taken[#taken + 1] = string.format('%.2f', mark)
end
return taken
