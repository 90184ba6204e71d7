-- Keeps a payload that is too large for the log, with its request and for as long.
-- Must never let an attempt whose claim was taken over, or which has ended, overwrite what another one answered.
-- @include include-record.lua
--
-- ARGV[1] directive id   ARGV[2] fence   ARGV[3] payload, JSON
-- Returns { 'kept' } | { 'stale' }.
local id = ARGV[1]
local record = redis.call('HMGET', STATE, id .. '|status', id .. '|fence')
if record[1] ~= 'running' or record[2] ~= ARGV[2] then
  return { 'stale' }
end
redis.call('HSET', BODIES, PAYLOAD .. id, ARGV[3])
return { 'kept' }
