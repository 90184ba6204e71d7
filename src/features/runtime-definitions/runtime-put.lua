-- Stores a server, an agent or a policy of a tenant, and announces the change in the same step.
-- Never replaces another version than the one that was read, nor lets a tenant have more than it may.
--
-- KEYS[1] definitions of the tenant: hash of name -> '<version> <ms> <record>'
-- KEYS[2] state: hash; `revision`, `count` of all definitions, `of:<tenant>` = revision of its last change
-- KEYS[3] pace of the tenant: string, number of changes in this period
-- ARGV[1] tenant   ARGV[2] name   ARGV[3] record   ARGV[4] version that is replaced ('' = there is none)
-- ARGV[5] most of a tenant   ARGV[6] most of all   ARGV[7] changes in a period   ARGV[8] period_ms   ARGV[9] channel
-- Returns { 'done' } | { 'conflict' } | { 'full' } | { 'paced', ms until the period ends }.
local DEFINITIONS, STATE, PACE = KEYS[1], KEYS[2], KEYS[3]
local known = redis.call('HGET', DEFINITIONS, ARGV[2])
local version = known and string.match(known, '^(%d+) ') or ''
if version ~= ARGV[4] then
  return { 'conflict' }
end
local changes = redis.call('INCR', PACE)
if changes == 1 then
  redis.call('PEXPIRE', PACE, ARGV[8])
end
if changes > tonumber(ARGV[7]) then
  return { 'paced', redis.call('PTTL', PACE) }
end
if not known then
  local all = tonumber(redis.call('HGET', STATE, 'count') or '0')
  if redis.call('HLEN', DEFINITIONS) >= tonumber(ARGV[5]) or all >= tonumber(ARGV[6]) then
    return { 'full' }
  end
  redis.call('HINCRBY', STATE, 'count', 1)
end
local time = redis.call('TIME')
local at = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
local revision = string.format('%.0f', redis.call('HINCRBY', STATE, 'revision', 1))
redis.call('HSET', DEFINITIONS, ARGV[2], revision .. ' ' .. at .. ' ' .. ARGV[3])
redis.call('HSET', STATE, 'of:' .. ARGV[1], revision)
redis.call('PUBLISH', ARGV[9], ARGV[1])
return { 'done' }
