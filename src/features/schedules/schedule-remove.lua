-- Removes a schedule and all that is kept of it.
-- Must never remove another one that was made under the same id since.
--
-- KEYS[1] due: sorted set of schedules   KEYS[2] schedule: hash   KEYS[3] its history: list   KEYS[4] those of the tenant: sorted set
-- KEYS[5] tenants that have schedules: set
-- ARGV[1] schedule, as in `due`   ARGV[2] its id, as the tenant knows it   ARGV[3] its field `made`
-- Returns { 'done' } | { 'gone' } | { 'changed' }.
local function leave()
  redis.call('ZREM', KEYS[1], ARGV[1])
  redis.call('ZREM', KEYS[4], ARGV[2])
  local tenant = string.match(ARGV[1], '^([^~]+)~')
  if tenant and redis.call('EXISTS', KEYS[4]) == 0 then
    redis.call('SREM', KEYS[5], tenant)
  end
end

local made = redis.call('HGET', KEYS[2], 'made')
if not made then
  leave()
  return { 'gone' }
elseif made ~= ARGV[3] then
  return { 'changed' }
end
redis.call('DEL', KEYS[2], KEYS[3])
leave()
return { 'done' }
