-- Appends signals of a running attempt (progress, deltas) under its claim's fence.
-- Must never append for an attempt that was taken over or has ended.
-- @include include-record.lua
--
-- ARGV[1] directive id   ARGV[2] fence   ARGV[3..] signals, JSON
-- Returns { 'appended', last sequence } | { 'stale' }.
local id = ARGV[1]
local record = redis.call('HMGET', STATE, id .. '|status', id .. '|fence', 'seq')
if record[1] ~= 'running' or record[2] ~= ARGV[2] then
  return { 'stale' }
end
local sequence = emit(tonumber(record[3] or '0'), 3, #ARGV, false)
redis.call('HSET', STATE, 'seq', int(sequence))
return { 'appended', sequence }
