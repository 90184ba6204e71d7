-- Reopens a run that has ended: it counts as open again, and reads that it was resumed, then the answers of the calls that its end left.
-- Must never reopen a run twice for one key, nor one that another resume or a later turn has changed since it was read.
-- @include include-entrance.lua
--
-- KEYS[4..6] as include-entrance.lua says, of the lane of runs
-- ARGV[1] name of the resume, the same at every repeat   ARGV[2] digest of its content   ARGV[3] version of the run as it was read
-- ARGV[4] signal JSON   ARGV[5] the most bytes of a request   ARGV[6] sequence of a further signal to be read again ('' = none)
-- ARGV[7] number of directive ids   ARGV[8..] these ids, whose terminal signals are read   then as `announce` reads them
-- Returns { 'resumed', version } | { 'existing', version, status } | { 'conflict' } | { 'open' } | { 'version' } | { 'unknown' }
--   | { 'no_room', bytes that the request holds }.
local name = '@run|post|' .. ARGV[1]
local fields = { unpack(OPENING_FIELDS) }
local known = #fields
for _, field in ipairs({ name, '@run|version', '@run|status', '@run|agent' }) do
  fields[#fields + 1] = field
end
local request = redis.call('HMGET', STATE, unpack(fields))
local said, version, status, agent = unpack(request, known + 1, known + 4)
if not version then
  return { 'unknown' }
elseif said then
  if string.match(said, '^%d+ (.*)$') ~= ARGV[2] then
    return { 'conflict' }
  end
  return { 'existing', tonumber(version), status }
-- OPENING_FIELDS has the unread list at 6: it is there while the run has not ended.
-- @guard resume-ended
elseif request[6] then
  return { 'open' }
-- @guard resume-version
elseif version ~= ARGV[3] then
  return { 'version' }
end
local bytes = RECORD_BYTES + #ARGV[4]
if not has_room(bytes, request[7], tonumber(request[3] or '0') + 1, ARGV[5]) then
  return { 'no_room', tonumber(request[7] or '0') }
end

local now = now_ms()
local ids = tonumber(ARGV[7])
if KEYS[4] then
  -- @guard announced-resume
  announce(8 + ids, now)
end
local facts = open_request(request, 1, 0, now, false)
local sequence = emit(facts.seq, 4, 4, false, true)
local unread = int(sequence) .. ',' .. (ARGV[6] ~= '' and (ARGV[6] .. ',') or '')
for at = 8, 7 + ids do
  -- What has not ended yet is read when it ends.
  local terminal = redis.call('HGET', STATE, ARGV[at] .. '|terminal')
  unread = unread .. (terminal and (terminal .. ',') or '')
end
redis.call('HDEL', STATE, '@run|ended_at', '@run|post|cancel', '@run|replaced')
add_fields(facts.fields, 'seq', int(sequence), 'bytes', int(facts.bytes + bytes), '@run|status', 'running', '@run|wake_at', '',
  '@run|changed_at', int(now), RUN_INBOX, unread, name, int(sequence) .. ' ' .. ARGV[2])
redis.call('HSET', STATE, unpack(facts.fields))
if KEYS[6] then
  after_acceptance(enqueue_turn, tonumber(version), agent, now)
end
return { 'resumed', tonumber(version) }
