-- Makes a schedule: its record, its place among those of its tenant, and when to look at it.
-- Must never replace one that is there, nor let a tenant have more than it may.
--
-- KEYS[1] due: sorted set of schedules by when to look   KEYS[2] schedule: hash   KEYS[3] those of the tenant: sorted set of ids
-- KEYS[4] tenants that have schedules: set, without the default one
-- ARGV[1] schedule, as in `due`   ARGV[2] its id, as the tenant knows it   ARGV[3] digest of its content
-- ARGV[4] when to look, milliseconds since the epoch   ARGV[5] the most of a tenant   then: field, value ...
-- Returns { 'done' } | { 'existing' } | { 'conflict' } | { 'full' }. A repeat finds its own digest and is `existing`.
local DUE, SCHEDULE, OWN = KEYS[1], KEYS[2], KEYS[3]
local known = redis.call('HGET', SCHEDULE, 'digest')
if known then
  return { known == ARGV[3] and 'existing' or 'conflict' }
elseif redis.call('ZCARD', OWN) >= tonumber(ARGV[5]) then
  return { 'full' }
end
redis.call('HSET', SCHEDULE, 'digest', ARGV[3], unpack(ARGV, 6))
redis.call('ZADD', OWN, 0, ARGV[2])
local tenant = string.match(ARGV[1], '^([^~]+)~')
if tenant then
  redis.call('SADD', KEYS[4], tenant)
end
redis.call('ZADD', DUE, ARGV[4], ARGV[1])
return { 'done' }
