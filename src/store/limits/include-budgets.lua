-- The keys of budgets, which begin with the one that a script gets, and the day by the clock of Redis.
-- Must never count by the clock of a worker.
--
-- <prefix>today (hash name, begins_at, ends_at, time_zone)   <prefix>call:<reservation> (string)
-- <prefix><day>:<budget> (hash)   <prefix><day>:of:<tenant> (set of budgets; of all tenants: '')
-- <prefix><day>:ranked (set of rules that give each tenant its own)   <prefix><day>:rank:<rule> (sorted set of their budgets)
local BUDGETS = KEYS[1]

local function budget_key(day, id)
  return BUDGETS .. day .. ':' .. id
end

local function budgets_of(day, tenant)
  return BUDGETS .. day .. ':of:' .. tenant
end

-- `days`: a list of { name, beginsAt, endsAt }, seconds since the epoch. nil: none of them is it.
local function day_at(seconds, days)
  for _, each in ipairs(days) do
    if seconds >= each.beginsAt and seconds < each.endsAt then
      return each
    end
  end
  return nil
end

local KEEP_MS = 3 * 86400 * 1000
local MOST_RULES = 100
local MOST_RANKED = 2000

-- What is used of a budget that each tenant has of its own, among those of the others: the most are kept. Who was left out comes back with the next count.
local function rank_budget(day, id)
  local key = budget_key(day, id)
  local unit, rule = string.match(redis.call('HGET', key, 'rank') or '', '^(%a+):(%x+)$')
  if not rule then
    return
  end
  local rules, place = BUDGETS .. day .. ':ranked', BUDGETS .. day .. ':rank:' .. rule
  if redis.call('SISMEMBER', rules, rule) == 0 then
    if redis.call('SCARD', rules) >= MOST_RULES then
      return
    end
    redis.call('SADD', rules, rule)
    redis.call('PEXPIRE', rules, KEEP_MS)
  end
  redis.call('ZADD', place, redis.call('HGET', key, unit) or '0', id)
  redis.call('ZREMRANGEBYRANK', place, 0, -MOST_RANKED - 1)
  redis.call('PEXPIRE', place, KEEP_MS)
end
