-- The keys of budgets, which begin with the one that a script gets, and the day by the clock of Redis.
-- Must never count by the clock of a worker.
--
-- <prefix>today (hash name, begins_at, ends_at, time_zone)   <prefix>call:<reservation> (string)
-- <prefix><day>:<budget> (hash)   <prefix><day>:of:<tenant> (set of budgets; of all tenants: '')
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
