-- Forgets entries of the sweep index, and notes their requests as changed: both or nothing.
-- Must never forget what is not noted: the sweeper notes what a process that died has not.
--
-- KEYS[1] sweep index   KEYS[2] changed requests
-- ARGV[1] milliseconds from now until their rows are due   ARGV[2] how many entries   ARGV[3..] the entries, then the request ids
local time = redis.call('TIME')
local due_at = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) + tonumber(ARGV[1]))
local last = 2 + tonumber(ARGV[2])
local scored = {}
for index = last + 1, #ARGV do
  scored[#scored + 1] = due_at
  scored[#scored + 1] = ARGV[index]
end
-- @guard search-end-noted
if #scored > 0 then
  redis.call('ZADD', KEYS[2], 'LT', unpack(scored))
end
redis.call('ZREM', KEYS[1], unpack(ARGV, 3, last))
return { 'ok' }
