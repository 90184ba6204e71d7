-- Removes a server, an agent or a policy of a tenant with all that is kept of it, and announces the change in the same step.
-- Never removes another version than the one that was read.
--
-- KEYS[1] definitions of the tenant: hash   KEYS[2] state: hash
-- ARGV[1] tenant   ARGV[2] name   ARGV[3] version that is removed   ARGV[4] channel
-- Returns { 'done' } | { 'gone' } | { 'conflict' }.
local known = redis.call('HGET', KEYS[1], ARGV[2])
if not known then
  return { 'gone' }
elseif string.match(known, '^(%d+) ') ~= ARGV[3] then
  return { 'conflict' }
end
redis.call('HDEL', KEYS[1], ARGV[2])
redis.call('HINCRBY', KEYS[2], 'count', -1)
local revision = redis.call('HINCRBY', KEYS[2], 'revision', 1)
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HDEL', KEYS[2], 'of:' .. ARGV[1])
else
  redis.call('HSET', KEYS[2], 'of:' .. ARGV[1], revision)
end
redis.call('PUBLISH', ARGV[4], ARGV[1])
return { 'done' }
