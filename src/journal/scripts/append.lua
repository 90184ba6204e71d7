-- Appends signals of a running attempt (progress, deltas) under its claim's fence.
-- Must never append for an attempt that was taken over or has ended, nor twice when a lost connection repeats the command.
-- @include include-claims.lua
--
-- ARGV[1] directive id   ARGV[2] fence   ARGV[3] id of the last signal, which tells a repeat
-- ARGV[4] the most bytes of a request   ARGV[5..] signals, JSON
-- Returns { 'appended', last sequence } | { 'stale' } | { 'no_room' }.
local id = ARGV[1]
local record = redis.call('HMGET', STATE, id .. '|status', id .. '|fence', 'seq', id .. '|appended', 'bytes', 'open',
  claim_field(id, ARGV[2]))
if record[1] ~= 'running' or record[2] ~= ARGV[2] then
  return { 'stale' }
end
if record[4] == ARGV[3] then
  return { 'appended', tonumber(record[3]) }
end
if not has_room(bytes_of_signals(5, #ARGV), record[5], record[6], ARGV[4]) then
  return { 'no_room' }
end
local sequence = emit(tonumber(record[3] or '0'), 5, #ARGV, false)
if record[7] and string.find(record[7], ' ', 1, true) then
  redis.call('HSET', STATE, 'seq', int(sequence), id .. '|appended', ARGV[3])
else
  redis.call('HSET', STATE, 'seq', int(sequence), id .. '|appended', ARGV[3],
    claim_field(id, ARGV[2]), (record[7] or '-') .. ' ' .. int(now_ms()))
end
return { 'appended', sequence }
