-- Takes the next jobs of a lane, as many as there are free slots, and claims their directives.
-- Must never take one that BullMQ's own script would not, nor others when a lost connection repeats the command.
-- @include include-take.lua
--
-- ARGV[1..] an ask as include-take.lua reads it, then name of the place where this consumer's last take is remembered, and how many jobs
--   at most
-- Returns as `take_jobs`.
local ask, now = ask_at(1), now_ms()
local place, most = BASE .. 'taken:' .. ARGV[#ASK + 1], tonumber(ARGV[#ASK + 2])
-- So many times its lock is a take remembered: a job whose lock ran out stays active until BullMQ's next check but one.
local REMEMBERED_LOCKS = 4
-- Of the jobs that wait, so that idle workers share them.
local SHARE = 4

-- @guard several-share
local count = math.max(1, math.min(most, math.floor(redis.call('LLEN', BASE .. 'wait') / SHARE)))
-- The last of the list is the next.
local ids = redis.call('LRANGE', BASE .. 'wait', -count, -1)
local remembered = int(tonumber(ask.lock_ms) * REMEMBERED_LOCKS)
-- @guard several-place
local last = #ids > 0 and redis.call('SET', place, ask.token .. ' ' .. table.concat(ids, '\n'), 'PX', remembered, 'GET')
  or redis.call('GET', place)
local known, taken = string.match(last or '', '^(%S+) (.*)$')
-- @guard take-repeat
if known == ask.token then
  local again, nth = {}, 0
  redis.call('SET', place, last, 'PX', remembered)
  local before = {}
  for id in string.gmatch(taken, '[^\n]+') do
    table.insert(before, 1, id)
  end
  for index, id in ipairs(before) do
    again[#again + 1] = taken_again(ask, token_of(ask, index), id, now)
  end
  if #again > 0 then
    return { 'kind', 'jobs', 'jobs', again }
  end
end
return take_jobs(ask, count, now)
