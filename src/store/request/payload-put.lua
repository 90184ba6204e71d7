-- Keeps a payload that is too large for the log, with its request, for as long and within its bytes.
-- Must never let an attempt whose claim was taken over, or which has ended, overwrite what another one answered.
-- @include include-record.lua
--
-- ARGV[1] directive id   ARGV[2] fence   ARGV[3] payload, JSON   ARGV[4] the most bytes of a request
-- Returns { 'kept' } | { 'stale' } | { 'no_room', bytes that the request holds }.
-- No directive's id begins with '@'.
local id, payload = ARGV[1], '@payload|' .. ARGV[1]
local record = redis.call('HMGET', STATE, id .. '|status', id .. '|fence', 'bytes', 'open')
if record[1] ~= 'running' or record[2] ~= ARGV[2] then
  return { 'stale' }
end
local more = #ARGV[3] - redis.call('HSTRLEN', BODIES, payload)
if not has_room(more, record[3], record[4], ARGV[4]) then
  return { 'no_room', tonumber(record[3] or '0') }
end
grow(more)
redis.call('HSET', BODIES, payload, ARGV[3])
return { 'kept' }
