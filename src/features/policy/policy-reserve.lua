-- Reads counters; or adds a call to its counters, if those that decided about it are still as they were read.
-- Must never add a call twice, nor one about which other counts would have decided.
-- @include include-policy.lua
--
-- KEYS[1] the beginning of every key of counters
-- ARGV[1] the directive   ARGV[2] counters, JSON: a list of { name, scope, daily, amount that the call adds }
-- ARGV[3] their values as they were read, as text and in that order, JSON ('' = they are read now)
-- ARGV[4] what was decided, JSON   ARGV[5] how long it may wait for a person, ms (0 = it waits for none)
-- ARGV[6] its request, if it adds to a counter of the request ('' = it does not)
-- Returns { 'known', what was decided }: it was added before | { 'values', values } | { 'added' }
local record = POLICY .. 'r:' .. ARGV[1]
local known = redis.call('GET', record)
if known then
  return { 'known', cjson.decode(known).decided }
end
local counters, now = cjson.decode(ARGV[2]), clock()
local values, keys = {}, {}
for index, counter in ipairs(counters) do
  keys[index] = counter_key(counter, now)
  values[index] = redis.call('GET', keys[index]) or '0'
end
local seen = ARGV[3] ~= '' and cjson.decode(ARGV[3])
for index = 1, seen and #values or 0 do
  -- @guard policy-seen
  if seen[index] ~= values[index] then
    seen = false
    break
  end
end
if not seen then
  return { 'values', values }
end
local added = {}
for index, counter in ipairs(counters) do
  if counter.amount > 0 then
    redis.call('SET', keys[index], amount_text(tonumber(values[index]) + counter.amount), 'PX', counter.daily and KEEP_DAY_MS or KEEP_REQUEST_MS)
    added[#added + 1] = { key = keys[index], amount = counter.amount }
  end
end
local waits_ms = tonumber(ARGV[5])
redis.call('SET', record, cjson.encode({ added = added, decided = ARGV[4] }), 'PX', waits_ms + DAY_MS)
if waits_ms > 0 then
  redis.call('ZADD', DUE, now + FIRST_LOOK_MS, ARGV[1])
end
if ARGV[6] ~= '' then
  redis.call('ZADD', REQUESTS, 'NX', now + FIRST_LOOK_MS, ARGV[6])
end
return { 'added' }
