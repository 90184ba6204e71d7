-- Keeps the counters of a request for as long as it is stored, and forgets them with it.
-- Must never forget a count that was added since the request was read: another one of its name may have begun.
-- @include include-policy.lua
--
-- KEYS[1] the beginning of every key of counters
-- ARGV[1] the request   ARGV[2] its counters, JSON: a list of { name, scope, daily }
-- ARGV[3] their values as they were read before the request was, as text and in that order, JSON
-- ARGV[4] how long the request is still stored, ms (-1 = it is open, -2 = it is gone)
-- Returns { 'kept' } | { 'forgotten' }
local counters, seen, left_ms, now = cjson.decode(ARGV[2]), cjson.decode(ARGV[3]), tonumber(ARGV[4]), clock()
local is_gone = left_ms == -2
for index, counter in ipairs(counters) do
  local key = counter_key(counter, now)
  if is_gone and (redis.call('GET', key) or '0') == seen[index] then
    redis.call('UNLINK', key)
  else
    redis.call('PEXPIRE', key, KEEP_REQUEST_MS)
  end
end
if is_gone then
  redis.call('ZREM', REQUESTS, ARGV[1])
  return { 'forgotten' }
end
redis.call('ZADD', REQUESTS, 'XX', now + (left_ms < 0 and LONGEST_LOOK_MS or math.min(left_ms + 1000, LONGEST_LOOK_MS)), ARGV[1])
return { 'kept' }
