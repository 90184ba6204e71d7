-- Takes the next job of a lane, and claims its directive.
-- Must never take one that BullMQ's own script would not, nor a second one when a lost connection repeats the command.
-- @include include-take.lua
--
-- ARGV[1..] as include-take.lua
-- Returns a `job_reply` `with_claim`, or as `take_job`.
local place, take, now = place_of(1), ARGV[4], now_ms()
local id = redis.call('LINDEX', BASE .. 'wait', -1)
local last
if id then
  last = redis.call('SET', place, take .. ' ' .. id, 'PX', remember_ms(1), 'GET')
else
  last = redis.call('GET', place)
end
local known, taken = string.match(last or '', '^(%S+) (.*)$')
local again = known == take and taken_again(1, taken)
if again then
  redis.call('SET', place, last, 'PX', remember_ms(1))
  return with_claim(1, again, now)
end
return with_claim(1, take_job(ARGV[1], ARGV[2], ARGV[3], take), now)
