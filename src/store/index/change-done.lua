-- Forgets changed requests whose rows are written.
-- Must never forget one that has changed since it was taken: a change while it was held lowers its score, and once the hold is nearly
-- over one may not have.
--
-- KEYS[1] changed requests   KEYS[2] holds, as in change-take.lua   ARGV[1] their score since they were taken   ARGV[2] how long before that a change would still lower it,
-- milliseconds   ARGV[3..] request ids, each once
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local held = tonumber(ARGV[1])
if now + tonumber(ARGV[2]) >= held then
  return { 0 }
end
local scores = redis.call('ZMSCORE', KEYS[1], unpack(ARGV, 3))
local done = {}
for index, score in ipairs(scores) do
  -- @guard search-change-lost
  if score and tonumber(score) == held then
    done[#done + 1] = ARGV[index + 2]
  end
end
local taken = redis.call('ZCOUNT', KEYS[1], ARGV[1], ARGV[1])
-- @guard change-of-others
if taken == #done then
  -- All that has the score: the append-only file need not name them.
  redis.call('ZREMRANGEBYSCORE', KEYS[1], ARGV[1], ARGV[1])
  redis.call('ZREM', KEYS[2], ARGV[1])
elseif #done > 0 then
  redis.call('ZREM', KEYS[1], unpack(done))
end
return { #done }
