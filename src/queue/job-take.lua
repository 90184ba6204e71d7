-- Takes the next job of a lane, or some, and claims their directives.
-- Must never take one that BullMQ's own script would not, nor others when a lost connection repeats the command.
-- @include include-take.lua
--
-- ARGV[1..] as include-take.lua   ARGV[14] how many jobs at most; of several the first is taken as by a take of one. The second has the
--   lock of the next token that BullMQ's worker gives out, which end in a number, and its claim the token of the take with `.2` behind it
-- Returns a `job_reply` `with_claim`, or as `take_job`, of nothing `or_offer` | { 'jobs', a `job_reply` `with_claim`, or false = somebody else has it, ... }
local MOST = tonumber(ARGV[TAKE_FIELDS + 1])
-- Of those that wait, so that idle workers share them.
local SHARE = 4

local function lock_of(nth)
  local name, number = string.match(ARGV[1], '^(.*:)(%d+)$')
  return nth == 1 and ARGV[1] or name .. int(tonumber(number) + nth - 1)
end

local function claim_token(nth)
  return nth == 1 and ARGV[4] or ARGV[4] .. '.' .. nth
end

-- How many are taken: one, unless many wait.
local function how_many()
  if MOST == 1 or not string.find(ARGV[1], ':%d+$') then
    return 1
  end
  local share = math.floor(redis.call('LLEN', BASE .. 'wait') / SHARE)
  return math.max(1, math.min(MOST, share))
end

-- Those that this take has taken before, as `ids`, in their places; false = none of them.
local function all_again(ids, now)
  local jobs, found = {}, false
  for id in string.gmatch(ids, '[^\n]+') do
    local nth = #jobs + 1
    local again = taken_again(1, id, lock_of(nth))
    found = found or again ~= nil
    jobs[nth] = again and with_claim(1, again, now, claim_token(nth)) or false
  end
  return found and jobs
end

local function answer(jobs)
  return #jobs == 1 and jobs[1] or { 'jobs', unpack(jobs) }
end

local place, take, now = place_of(1), ARGV[4], now_ms()
local count = how_many()
-- The last of the list is the next.
local ids = redis.call('LRANGE', BASE .. 'wait', -count, -1)
local next_ids = {}
for at = #ids, 1, -1 do
  next_ids[#next_ids + 1] = ids[at]
end
local last
if #ids > 0 then
  -- @guard several-place
  last = redis.call('SET', place, take .. ' ' .. table.concat(next_ids, '\n'), 'PX', remember_ms(1), 'GET')
else
  last = redis.call('GET', place)
end
local known, taken = string.match(last or '', '^(%S+) (.*)$')
-- @guard take-repeat
local again = known == take and all_again(taken, now)
if again then
  redis.call('SET', place, last, 'PX', remember_ms(1))
  return answer(again)
end
local jobs = {}
for nth = 1, count do
  -- What is wrong with a later one does not lose those before it.
  -- @guard several-lock
  local ran, job = pcall(take_job, lock_of(nth), ARGV[2], ARGV[3], claim_token(nth), count > 1)
  if nth > 1 and (not ran or job[1] ~= 'job') then
    break
  elseif not ran then
    error(job)
  end
  jobs[nth] = with_claim(1, job, now, claim_token(nth))
end
return or_offer(1, answer(jobs), now)
