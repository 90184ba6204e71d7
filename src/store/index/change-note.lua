-- Notes requests whose rows of the search index are due.
-- Must never put off one that is due earlier; one that is being indexed is indexed once more.
--
-- KEYS[1] changed requests: sorted set of request ids by when they are due
-- ARGV[1] milliseconds from now until they are due   ARGV[2..] request ids
local time = redis.call('TIME')
local due_at = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) + tonumber(ARGV[1]))
local scored = {}
for index = 2, #ARGV do
  scored[#scored + 1] = due_at
  scored[#scored + 1] = ARGV[index]
end
redis.call('ZADD', KEYS[1], 'LT', unpack(scored))
return { 'ok' }
