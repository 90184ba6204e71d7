-- Appends a score to the log of a request, open or closed. A closed request stays closed, and expires when it would have.
-- Must never append the same score twice, nor change anything that the request waits for.
-- @include include-record.lua
--
-- ARGV[1] score id   ARGV[2] digest of its content   ARGV[3] the most bytes of a request   ARGV[4] the most scores of a request
-- ARGV[5] signal JSON
-- Returns { 'recorded', sequence } | { 'known', sequence } = it was recorded before | { 'conflict', sequence } | { 'unknown' } | { 'no_room', bytes } | { 'too_many' }.
local field = '@score|' .. ARGV[1]
local record = redis.call('HMGET', STATE, 'status', 'seq', 'bytes', 'open', field, '@scores')
local status, count = record[1], tonumber(record[6] or '0')
if not status then
  return { 'unknown' }
end
if record[5] then
  local sequence, digest = string.match(record[5], '^(%d+) (.*)$')
  return { digest == ARGV[2] and 'known' or 'conflict', tonumber(sequence) }
end
local bytes = bytes_of_signals(5, 5) + RECORD_BYTES
if not has_room(bytes, record[3], record[4], ARGV[3]) then
  return { 'no_room', tonumber(record[3] or '0') }
elseif count >= tonumber(ARGV[4]) then
  return { 'too_many' }
end
local sequence = emit(tonumber(record[2] or '0'), 5, 5, status == 'closed', true)
redis.call('HSET', STATE, 'seq', int(sequence), 'bytes', int(tonumber(record[3] or '0') + bytes),
  field, int(sequence) .. ' ' .. ARGV[2], '@scores', int(count + 1))
return { 'recorded', sequence }
