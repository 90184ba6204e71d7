-- Which budgets of a day calls were counted in.
-- Must never change one.
--
-- KEYS[1] the beginning of every key of budgets
-- ARGV[1] days as JSON, for a Redis that knows none yet   ARGV[2] how many of each rule that gives each tenant its own
--   ARGV[3…] whose: tenants; '' = of all together
-- Returns { 'ok', day, begins_at s, ends_at s, time zone, as JSON: a list of { ids of budgets, how many more there are } } |
--   { 'clock', now s }: the days are others. The budgets are read one by one: there may be thousands, and Redis does nothing else meanwhile.
-- @include include-budgets.lua

local seconds = tonumber(redis.call('TIME')[1])
local known = redis.call('HMGET', BUDGETS .. 'today', 'name', 'begins_at', 'ends_at', 'time_zone')
local asked = cjson.decode(ARGV[1])
local zone = known[4] or asked.timeZone
local today
if known[1] and seconds >= tonumber(known[2]) and seconds < tonumber(known[3]) then
  today = { name = known[1], beginsAt = tonumber(known[2]), endsAt = tonumber(known[3]) }
else
  today = day_at(seconds, asked.days)
  zone = asked.timeZone
end
if not today then
  return { 'clock', seconds }
end
local found = {}
local function add(ids, left)
  if #ids > 0 then
    found[#found + 1] = { ids, left }
  end
end
for index = 3, #ARGV do
  add(redis.call('SMEMBERS', budgets_of(today.name, ARGV[index])), 0)
end
local most = tonumber(ARGV[2])
for _, rule in ipairs(most > 0 and redis.call('SMEMBERS', BUDGETS .. today.name .. ':ranked') or {}) do
  local place = BUDGETS .. today.name .. ':rank:' .. rule
  local first = redis.call('ZREVRANGE', place, 0, most - 1)
  add(first, redis.call('ZCARD', place) - #first)
end
return { 'ok', today.name, today.beginsAt, today.endsAt, zone, #found == 0 and '[]' or cjson.encode(found) }
