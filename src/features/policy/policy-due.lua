-- Takes the calls that wait for a person and are due for a check, and puts them off, so that no two processes check one at once.
-- Must never drop one.
-- @include include-policy.lua
--
-- KEYS[1] the beginning of every key of counters
-- ARGV[1] how many at most   ARGV[2] ms until each is due again
-- Returns the directives
local now = clock()
local due = redis.call('ZRANGEBYSCORE', DUE, '-inf', now, 'LIMIT', 0, ARGV[1])
for _, directive in ipairs(due) do
  redis.call('ZADD', DUE, now + tonumber(ARGV[2]), directive)
end
return due
