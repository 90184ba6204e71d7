-- Takes schedules that are due, each for one process, by putting them off a little: of each tenant the one that is due longest, then
-- of each the next one, so that nobody's many schedules are in the way of somebody else's few.
-- Must never take one out for good: a process that dies now leaves all it took to the next one.
--
-- KEYS[1] due: sorted set of schedules by when to look; `<tenant>~<id>`, of the tenant `default` the id alone
-- ARGV[1] the most that are taken   ARGV[2] hold_ms: how long nobody else looks at them   ARGV[3] the most that are looked at
-- ARGV[4] with which tenant it begins, in the order in which they came to be due; the next call begins with another one
-- Returns { now, schedule... }, in the order in which they are taken; now as text.
local MOST = tonumber(ARGV[1])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local held = string.format('%.0f', now + tonumber(ARGV[2]))
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, tonumber(ARGV[3]))

local tenants, of = {}, {}
for _, schedule in ipairs(due) do
  local tenant = string.match(schedule, '^([^~]*)~') or ''
  if not of[tenant] then
    of[tenant] = {}
    tenants[#tenants + 1] = tenant
  end
  table.insert(of[tenant], schedule)
end

local taken, scored = {}, {}
local first = #tenants > 0 and tonumber(ARGV[4]) % #tenants or 0
for round = 1, #due do
  for place = 0, #tenants - 1 do
    local schedule = of[tenants[(first + place) % #tenants + 1]][round]
    if schedule and #taken < MOST then
      taken[#taken + 1] = schedule
      scored[#scored + 1] = held
      scored[#scored + 1] = schedule
    end
  end
  if #taken == math.min(MOST, #due) then
    break
  end
end
if #scored > 0 then
  redis.call('ZADD', KEYS[1], unpack(scored))
end
return { string.format('%.0f', now), unpack(taken) }
