-- Keeps a part of a payload that is too large for the log, with its request, for as long and within its bytes.
-- Must never let an attempt whose claim was taken over, or which has ended, overwrite what another one answered.
-- @include include-record.lua
--
-- ARGV[1] directive id   ARGV[2] fence   ARGV[3] place of the part: '' (the payload, or where its parts are) or '|<index>'
-- ARGV[4] text of the part   ARGV[5] bytes of the parts that follow   ARGV[6] the most bytes of a request
-- Returns { 'kept' } | { 'stale' } | { 'no_room', bytes that the request holds }.
-- No directive's id begins with '@', and none has a '|'.
local id, field = ARGV[1], '@payload|' .. ARGV[1] .. ARGV[3]
local record = redis.call('HMGET', STATE, id .. '|status', id .. '|fence', 'bytes', 'open')
if record[1] ~= 'running' or record[2] ~= ARGV[2] then
  return { 'stale' }
end
local more = #ARGV[4] - redis.call('HSTRLEN', BODIES, field)
if not has_room(more + tonumber(ARGV[5]), record[3], record[4], ARGV[6]) then
  return { 'no_room', tonumber(record[3] or '0') }
end
grow(more)
redis.call('HSET', BODIES, field, ARGV[4])
return { 'kept' }
