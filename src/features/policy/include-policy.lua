-- The keys of the counters of rules, which begin with the one that a script gets, and the day by the clock of Redis, in UTC.
-- Must never count by the clock of a worker.
--
-- <prefix>c:<counter>:<scope>:<day> (string, a number; '-' = no day)   <prefix>r:<directive> (string, JSON: what the call has added, and
-- what was decided)   <prefix>due (sorted set of directives that wait for a person, score = the next check, milliseconds since the epoch)
-- <prefix>requests (sorted set of requests that have counters of their own, likewise)
local POLICY = KEYS[1]
local DAY_MS = 86400 * 1000
local KEEP_DAY_MS, KEEP_REQUEST_MS = 2 * DAY_MS, 30 * DAY_MS
local DUE, REQUESTS = POLICY .. 'due', POLICY .. 'requests'
local FIRST_LOOK_MS, LONGEST_LOOK_MS = 60 * 1000, 3600 * 1000

local function clock()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- `counter`: name, scope, and whether it begins anew each day.
local function counter_key(counter, now)
  return POLICY .. 'c:' .. counter.name .. ':' .. counter.scope .. ':' .. (counter.daily and string.format('%d', math.floor(now / DAY_MS)) or '-')
end

local function amount_text(amount)
  return string.format('%.6f', amount)
end

-- Gives back what a call has added, where the counter is still known.
local function give_back(added)
  for _, each in ipairs(added) do
    local value = redis.call('GET', each.key)
    if value then
      redis.call('SET', each.key, amount_text(math.max(0, tonumber(value) - each.amount)), 'KEEPTTL')
    end
  end
end
