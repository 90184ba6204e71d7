-- Forgets what a call has added to counters: it stays counted, or is given back, since it was not made.
-- Must never give back twice.
-- @include include-policy.lua
--
-- KEYS[1] the beginning of every key of counters
-- ARGV[1] the directive   ARGV[2] 1 = it was not made
-- Returns { 'settled' } | { 'unknown' }
local record = POLICY .. 'r:' .. ARGV[1]
local known = redis.call('GET', record)
redis.call('ZREM', DUE, ARGV[1])
if not known then
  return { 'unknown' }
end
redis.call('DEL', record)
if ARGV[2] == '1' then
  give_back(cjson.decode(known).added)
end
return { 'settled' }
