-- The budgets of a day that calls were counted in.
-- Must never change one.
--
-- KEYS[1] the beginning of every key of budgets
-- ARGV[1] days as JSON, for a Redis that knows none yet   ARGV[2…] whose: tenants; '' = of all together
-- Returns { 'ok', day, begins_at s, ends_at s, time zone, as JSON: a list of { budget, field, value, field, value… } }
--   | { 'clock', now s }: the days are others.
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
for index = 2, #ARGV do
  for _, id in ipairs(redis.call('SMEMBERS', budgets_of(today.name, ARGV[index]))) do
    local fields = redis.call('HGETALL', budget_key(today.name, id))
    table.insert(fields, 1, id)
    found[#found + 1] = fields
  end
end
local text = #found == 0 and '[]' or cjson.encode(found)
return { 'ok', today.name, today.beginsAt, today.endsAt, zone, text }
