-- Replaces what a call of a model might cost by what it did cost, in the budgets of the day that it was reserved on.
-- Must never settle a reservation twice, nor after its time: what was used would be given back.
--
-- KEYS[1] the beginning of every key of budgets
-- ARGV[1] reservation   ARGV[2] tokens   ARGV[3] money
-- Returns { 'settled' } | { 'unknown' }: it was settled before, or its time is over and it counts as it was reserved.
-- @include include-budgets.lua

local call = BUDGETS .. 'call:' .. ARGV[1]
local text = redis.call('GET', call)
if not text then
  return { 'unknown' }
end
redis.call('DEL', call)
local kept = cjson.decode(text)

local function correct(key, field, above)
  local sum = math.max(0, tonumber(redis.call('HGET', key, field) or '0') + above)
  redis.call('HSET', key, field, string.format('%.0f', sum))
end

for _, id in ipairs(kept.budgets) do
  local key = budget_key(kept.day, id)
  -- What is forgotten is not begun anew: it would be kept for ever.
  if redis.call('EXISTS', key) == 1 then
    for position, unit in ipairs({ 'tokens', 'money' }) do
      local above = tonumber(ARGV[position + 1]) - kept[unit]
      correct(key, unit, above)
      correct(key, unit .. '|' .. kept.label, above)
    end
    rank_budget(kept.day, id)
  end
end
return { 'settled' }
