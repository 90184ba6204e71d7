-- Tells a run something: appends a signal to the log and puts its sequence into the run's inbox.
-- Must never say the same thing twice, nor anything to a run that has ended.
-- @include include-record.lua
--
-- ARGV[1] name of what is said, the same at every repeat   ARGV[2] digest of its content
-- ARGV[3] the most inputs that may wait ('' = it is no input)   ARGV[4] signal JSON
-- ARGV[5] the most bytes of a request that an input may fill it to
-- Returns { 'sent', sequence, version, inputs that wait } | { 'existing', sequence, inputs that wait }
--   | { 'conflict' } | { 'ended' } | { 'full' } | { 'unknown' }
--   | { 'no_room', bytes that the request holds }.
local name = '@run|post|' .. ARGV[1]
local run = redis.call('HMGET', STATE, '@run|version', name, RUN_INBOX, '@run|inputs', '@run|held', 'seq', 'bytes', 'open')
if not run[1] then
  return { 'unknown' }
end
local posted = tonumber(run[4] or '0')
local waiting = posted + tonumber(run[5] or '0')
if run[2] then
  local sequence, digest = string.match(run[2], '^(%d+) (.*)$')
  if digest ~= ARGV[2] then
    return { 'conflict' }
  end
  return { 'existing', tonumber(sequence), waiting }
elseif not run[3] then
  return { 'ended' }
elseif ARGV[3] ~= '' and waiting >= tonumber(ARGV[3]) then
  return { 'full' }
end
local bytes = RECORD_BYTES + #ARGV[4]
if ARGV[3] ~= '' and not has_room(bytes, run[7], run[8], ARGV[5]) then
  return { 'no_room', tonumber(run[7] or '0') }
end
grow(RECORD_BYTES)
local sequence = emit(tonumber(run[6] or '0'), 4, 4, false)
local input = (ARGV[3] ~= '') and 1 or 0
redis.call('HSET', STATE, 'seq', int(sequence), RUN_INBOX, run[3] .. int(sequence) .. ',',
  name, int(sequence) .. ' ' .. ARGV[2], '@run|inputs', int(posted + input))
return { 'sent', sequence, tonumber(run[1]), waiting + input }
