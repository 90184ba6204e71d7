-- Accepts a batch of directives of one request, all or none; repeats of an accepted directive are recognised by digest.
-- Must never change anything when one directive of the batch conflicts.
-- @include include-record.lua
--
-- ARGV[1] retention_ms (used when immediate directives leave nothing open)
-- ARGV[2] channel on which the ends are announced beside the log ('' = none)
-- ARGV[3..] eight per directive: id, type, digest, lane ('' = none), deadline_ms, envelope JSON,
--           end status ('' = stays open), terminal signal JSON ('' = stays open)
-- Returns { 'conflict', id, stored digest } or { 'ok', now_ms, then per directive 'accepted' | 'existing' }.
local FIRST, FIELDS = 3, 8
local retention_ms, inbox = ARGV[1], ARGV[2]
local now = now_ms()
local at = int(now)
local verdicts = { 'ok', at }
local seen = {}
local fresh = 0

for first = FIRST, #ARGV, FIELDS do
  local id, digest = ARGV[first], ARGV[first + 2]
  local stored = seen[id] or redis.call('HGET', STATE, id .. '|digest')
  if stored and stored ~= digest then
    return { 'conflict', id, stored }
  end
  verdicts[#verdicts + 1] = stored and 'existing' or 'accepted'
  fresh = fresh + (stored and 0 or 1)
  seen[id] = digest
end
if fresh == 0 then
  return verdicts
end

local request = redis.call('HMGET', STATE, 'created_at', 'status', 'open', 'count', 'seq')
local facts = { open = tonumber(request[3] or '0') + fresh, seq = tonumber(request[5] or '0'), inbox = inbox ~= '' and inbox }
local opened = { 'status', 'open', 'open', int(facts.open), 'count', int(tonumber(request[4] or '0') + fresh) }
if not request[1] then
  opened[#opened + 1] = 'created_at'
  opened[#opened + 1] = at
elseif request[2] == 'closed' then
  redis.call('HDEL', STATE, 'closed_at')
  redis.call('PERSIST', STATE)
  redis.call('PERSIST', BODIES)
  redis.call('PERSIST', LOG)
end
redis.call('HSET', STATE, unpack(opened))

for position = FIRST, #verdicts do
  if verdicts[position] == 'accepted' then
    local first = FIRST + (position - FIRST) * FIELDS
    local id = ARGV[first]
    local record = { id .. '|status', 'accepted', id .. '|type', ARGV[first + 1], id .. '|digest', ARGV[first + 2],
      id .. '|lane', ARGV[first + 3], id .. '|accepted_at', at,
      id .. '|deadline_at', int(now + tonumber(ARGV[first + 4])) }
    if facts.inbox then
      record[#record + 1] = id .. '|inbox'
      record[#record + 1] = inbox
    end
    redis.call('HSET', BODIES, id, ARGV[first + 5])
    redis.call('HSET', STATE, unpack(record))
    if ARGV[first + 6] ~= '' then
      facts.seq = end_directive(id, ARGV[first + 6], now, retention_ms, facts, first + 7, first + 7)
      facts.open = facts.open - 1
    end
  end
end
return verdicts
