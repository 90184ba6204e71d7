-- Announces directives in the sweep index, to be looked at some time from now by the clock of Redis.
-- Must never put off a look that was agreed for earlier.
--
-- KEYS[1] sweep index, sorted set of `<request>/<directive>` -> when to look, milliseconds since the epoch
-- ARGV[1] milliseconds from now   ARGV[2..] members
-- Returns { the score of those that were not there }, as text.
local time = redis.call('TIME')
local at = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) + tonumber(ARGV[1]))
-- In portions, since Lua's stack bounds how many values are unpacked at once.
for first = 2, #ARGV, 1000 do
  local scored = {}
  for index = first, math.min(first + 999, #ARGV) do
    scored[#scored + 1] = at
    scored[#scored + 1] = ARGV[index]
  end
  redis.call('ZADD', KEYS[1], 'LT', unpack(scored))
end
return { at }
