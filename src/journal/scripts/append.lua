-- Appends signals of a running attempt (progress, deltas) under its claim's fence.
-- Must never append for an attempt that was taken over or has ended, nor twice when a lost connection repeats the command.
-- @include include-record.lua
--
-- ARGV[1] directive id   ARGV[2] fence   ARGV[3] id of the last signal, which tells a repeat   ARGV[4..] signals, JSON
-- Returns { 'appended', last sequence } | { 'stale' }.
local id = ARGV[1]
local record = redis.call('HMGET', STATE, id .. '|status', id .. '|fence', 'seq', id .. '|appended')
if record[1] ~= 'running' or record[2] ~= ARGV[2] then
  return { 'stale' }
end
if record[4] == ARGV[3] then
  return { 'appended', tonumber(record[3]) }
end
local sequence = emit(tonumber(record[3] or '0'), 4, #ARGV, false)
redis.call('HSET', STATE, 'seq', int(sequence), id .. '|appended', ARGV[3])
return { 'appended', sequence }
