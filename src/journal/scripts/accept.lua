-- Accepts a batch of directives of one request, all or none; repeats of an accepted directive are recognised by digest.
-- Must never change anything when one directive of the batch conflicts.
-- @include include-record.lua
--
-- ARGV[1] retention_ms (used when immediate directives leave nothing open)
-- ARGV[2] channel on which the ends are announced beside the log ('' = none)
-- ARGV[3..] eight per directive: id, type, digest, lane ('' = none), deadline_ms, envelope JSON,
--           end status ('' = stays open), terminal signal JSON ('' = stays open)
-- Returns { 'conflict', id, stored digest } or { 'ok', now_ms, then per directive 'accepted' | 'existing' }.
local FIELDS = 8
local now = now_ms()
local retention_ms = ARGV[1]
local verdicts = { 'ok', int(now) }
local seen = {}

for first = 3, #ARGV, FIELDS do
  local id, digest = ARGV[first], ARGV[first + 2]
  local stored = seen[id] or redis.call('HGET', STATE, id .. '|digest')
  if stored and stored ~= digest then
    return { 'conflict', id, stored }
  end
  verdicts[#verdicts + 1] = stored and 'existing' or 'accepted'
  seen[id] = digest
end

local fresh = 0
for _, verdict in ipairs(verdicts) do
  if verdict == 'accepted' then
    fresh = fresh + 1
  end
end
if fresh == 0 then
  return verdicts
end

if redis.call('HSETNX', STATE, 'created_at', int(now)) == 0 then
  redis.call('PERSIST', STATE)
  redis.call('PERSIST', BODIES)
  redis.call('PERSIST', LOG)
end
redis.call('HSET', STATE, 'status', 'open')
redis.call('HDEL', STATE, 'closed_at')
redis.call('HINCRBY', STATE, 'open', fresh)
redis.call('HINCRBY', STATE, 'count', fresh)

for position = 3, #verdicts do
  if verdicts[position] == 'accepted' then
    local first = 3 + (position - 3) * FIELDS
    local id = ARGV[first]
    redis.call('HSET', BODIES, id, ARGV[first + 5])
    redis.call('HSET', STATE,
      id .. '|status', 'accepted', id .. '|type', ARGV[first + 1], id .. '|digest', ARGV[first + 2],
      id .. '|lane', ARGV[first + 3], id .. '|accepted_at', int(now),
      id .. '|deadline_at', int(now + tonumber(ARGV[first + 4])))
    if ARGV[2] ~= '' then
      redis.call('HSET', STATE, id .. '|inbox', ARGV[2])
    end
    if ARGV[first + 6] ~= '' then
      end_directive(id, ARGV[first + 6], now, retention_ms, { ARGV[first + 7] })
    end
  end
end
return verdicts
