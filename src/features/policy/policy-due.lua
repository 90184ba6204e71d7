-- Takes the calls that wait for a person, or the requests that have counters, which are due for a check; and puts them off, so that no two
-- processes check one at once. Must never drop one.
-- @include include-policy.lua
--
-- KEYS[1] the beginning of every key of counters
-- ARGV[1] how many at most   ARGV[2] ms until each is due again   ARGV[3] 'due' = calls, 'requests' = requests
-- Returns the members
local now = clock()
local due = redis.call('ZRANGEBYSCORE', POLICY .. ARGV[3], '-inf', now, 'LIMIT', 0, ARGV[1])
for _, member in ipairs(due) do
  redis.call('ZADD', POLICY .. ARGV[3], now + tonumber(ARGV[2]), member)
end
return due
