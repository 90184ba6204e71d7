-- Changes a schedule as somebody has decided over it, records what became of an instant, and says when to look next: in one step.
-- Must never change one that is no longer as it was decided over, nor bring back one that was deleted.
--
-- KEYS[1] due: sorted set of schedules by when to look   KEYS[2] schedule: hash   KEYS[3] its history: list, newest first
-- ARGV[1] schedule, as in `due`   ARGV[2] JSON object: fields as they were decided over
-- ARGV[3] when to look, milliseconds since the epoch ('' = as it is, 'never' = nobody looks)
-- ARGV[4] entry of the history ('' = none)   ARGV[5] the most entries   ARGV[6] JSON object: fields to add to   then: field, value ...
-- Returns { 'done' } | { 'changed' } | { 'gone' }. A repeat is `changed`, or finds its own entry and is done.
local DUE, SCHEDULE, HISTORY = KEYS[1], KEYS[2], KEYS[3]
local member, look_at, entry = ARGV[1], ARGV[3], ARGV[4]
if redis.call('EXISTS', SCHEDULE) == 0 then
  redis.call('ZREM', DUE, member)
  return { 'gone' }
end
for field, value in pairs(cjson.decode(ARGV[2])) do
  -- @guard schedule-decided-over
  if (redis.call('HGET', SCHEDULE, field) or '') ~= value then
    return { 'changed' }
  end
end
if entry ~= '' and redis.call('LINDEX', HISTORY, 0) == entry then
  return { 'done' }
end
if #ARGV > 6 then
  redis.call('HSET', SCHEDULE, unpack(ARGV, 7))
end
for field, more in pairs(cjson.decode(ARGV[6])) do
  redis.call('HINCRBY', SCHEDULE, field, more)
end
if entry ~= '' then
  redis.call('LPUSH', HISTORY, entry)
  redis.call('LTRIM', HISTORY, 0, tonumber(ARGV[5]) - 1)
end
if look_at == 'never' then
  redis.call('ZREM', DUE, member)
elseif look_at ~= '' then
  redis.call('ZADD', DUE, look_at, member)
end
return { 'done' }
