-- Takes the most that a call of a model may cost out of every budget that it is counted in, or out of none of them.
-- Must never let a call pass that a budget has no room for: what is not settled, since its worker died, stays taken.
--
-- KEYS[1] the beginning of every key of budgets
-- ARGV[1] reservation   ARGV[2] how long it may be settled, ms   ARGV[3] days as JSON
-- ARGV[4] as JSON: `tokens` and `money` that it may cost, `label` of its model, and its `budgets`: `id`, `tokens` and
--   `money` that the budget holds (-1 = any), `owner` (a tenant or ''), `fields`: what is said of it
-- Returns { 'ok', day }, also to a repeat, | { 'refused', which of the budgets, tokens | money, used, ends_at s }
--   | { 'clock', now s }: the days are others.
-- @include include-budgets.lua
local MOST_OF_TENANT = 2000
local asked = cjson.decode(ARGV[4])

local seconds = tonumber(redis.call('TIME')[1])
local known = cjson.decode(ARGV[3])
local today = day_at(seconds, known.days)
if not today then
  return { 'clock', seconds }
end
local day, call = today.name, BUDGETS .. 'call:' .. ARGV[1]
if redis.call('EXISTS', call) == 1 then
  return { 'ok', day }
end

-- What is said of a budget is written with its first count, and again when its limit has changed.
local function count(budget, numbers)
  local key = budget_key(day, budget.id)
  for field, number in pairs(numbers) do
    redis.call('HINCRBY', key, field, string.format('%.0f', number))
  end
  local fields = { key }
  for field, value in pairs(budget.fields) do
    fields[#fields + 1] = field
    fields[#fields + 1] = value
  end
  redis.call('HSET', unpack(fields))
  redis.call('PEXPIRE', key, KEEP_MS)
  local owned = budgets_of(day, budget.owner)
  if redis.call('SCARD', owned) < MOST_OF_TENANT then
    redis.call('SADD', owned, budget.id)
    redis.call('PEXPIRE', owned, KEEP_MS)
  end
  rank_budget(day, budget.id)
end

local zone = { 'name', day, 'begins_at', today.beginsAt, 'ends_at', today.endsAt, 'time_zone', known.timeZone }
redis.call('HSET', BUDGETS .. 'today', unpack(zone))
redis.call('PEXPIRE', BUDGETS .. 'today', KEEP_MS)

for index, budget in ipairs(asked.budgets) do
  local used = redis.call('HMGET', budget_key(day, budget.id), 'tokens', 'money')
  for position, unit in ipairs({ 'tokens', 'money' }) do
    local of_day = tonumber(used[position] or '0')
    if budget[unit] >= 0 and of_day + asked[unit] > budget[unit] then
      count(budget, { breaches = 1 })
      return { 'refused', index - 1, unit, string.format('%.0f', of_day), today.endsAt }
    end
  end
end

local taken = {}
for _, budget in ipairs(asked.budgets) do
  local numbers = { tokens = asked.tokens, money = asked.money, calls = 1 }
  numbers['tokens|' .. asked.label] = asked.tokens
  numbers['money|' .. asked.label] = asked.money
  numbers['calls|' .. asked.label] = 1
  count(budget, numbers)
  taken[#taken + 1] = budget.id
end
local kept = { day = day, tokens = asked.tokens, money = asked.money, label = asked.label, budgets = taken }
redis.call('SET', call, cjson.encode(kept), 'PX', ARGV[2])
return { 'ok', day }
