-- Writes down the task that the other side has made of a running attempt's call: the next attempt asks for its end.
-- Must never write for an attempt that was taken over or has ended.
-- @include include-record.lua
--
-- ARGV[1] directive id   ARGV[2] fence   ARGV[3] the task, opaque, of a few KiB at most: it is written in any case
-- Returns { 'kept' } | { 'stale' }.
local id = ARGV[1]
local record = redis.call('HMGET', STATE, id .. '|status', id .. '|fence', id .. '|task')
if record[1] ~= 'running' or record[2] ~= ARGV[2] then
  return { 'stale' }
end
redis.call('HSET', STATE, id .. '|task', ARGV[3])
grow(#ARGV[3] - #(record[3] or ''))
return { 'kept' }
