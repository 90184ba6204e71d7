-- Ends a turn: document, signals, new directives and what was consumed of the inbox, all at once; where all keys are in one slot
-- it also announces, and enqueues the directives.
-- Must never write a turn that did not begin from the current version, nor end a run that has something left to read.
-- @include include-entrance.lua
--
-- KEYS[4..6] as include-entrance.lua says
-- ARGV[1] version the turn began from   ARGV[2] token of this commit, which tells a repeat
-- ARGV[3] bytes consumed of the inbox   ARGV[4] document JSON   ARGV[5] spec JSON ('' = as before)
-- ARGV[6] status   ARGV[7] wake_at ('' = never)   ARGV[8] 1 = the run ends here   ARGV[9] entries in the outbox
-- ARGV[10] inputs consumed of the inbox   ARGV[11] inputs that the document holds
-- ARGV[12] the most directives that may be open ('' = no limit)   ARGV[13] retention_ms
-- ARGV[14] the most bytes of a request, which only the end of the run may pass
-- ARGV[15] number of signals   ARGV[16] when the turn was read
-- ARGV[17..] as `announce` reads them, then the signals, JSON, then the directives, as include-accept.lua says
-- Returns { 'committed', version, now, 1 = there is more to read, last sequence } | { 'version', current one } | { 'more' }
--   | { 'conflict', id, stored digest } | { 'overflow', directives that would be open }
--   | { 'no_room', bytes that the request holds } | { 'unknown' }.
--
-- The field `@run|turn<version>` of the state says when a turn was read and written, and which signals it wrote:
-- `<read at> <written at> <sequence before them> <the last one>`. The newest are kept; nothing is decided by them.
local TURNS_KEPT, TURN_BYTES = 128, 96

local RUN_FIELDS = { '@run|version', '@run|token', '@run|inputs' }

local announcements = 17
local signals = after_announcements(announcements)
local directives = signals + tonumber(ARGV[15])
local now = now_ms()

local verdicts, fresh, stored, read = judge_batch(directives, RUN_FIELDS)
local _, _, stored_open, count, seq, inbox, stored_bytes, stored_version, token, inputs = unpack(read, 1, #OPENING_FIELDS + #RUN_FIELDS)
local version, final = tonumber(stored_version or '-1'), ARGV[8] == '1'
if not stored_version then
  return { 'unknown' }
end
if version == tonumber(ARGV[1]) + 1 and token == ARGV[2] then
  return { 'committed', version, int(now), (inbox and inbox ~= '') and 1 or 0, tonumber(seq) }
-- @guard run-version
elseif version ~= tonumber(ARGV[1]) then
  return { 'version', version }
end
-- @guard inbox-consumption
local rest = inbox and string.sub(inbox, tonumber(ARGV[3]) + 1)
-- @guard seal-if-empty
if final and inbox and rest ~= '' then
  return { 'more' }
end
if not verdicts then
  return { 'conflict', fresh, stored }
end
-- The run itself counts as one of what is open.
local open = tonumber(stored_open) + fresh
if ARGV[12] ~= '' and fresh > 0 and open - 1 > tonumber(ARGV[12]) then
  return { 'overflow', open - 1 }
end
-- Before its first turn a run has no document.
local bytes = #ARGV[4] - (version > 0 and redis.call('HSTRLEN', BODIES, '@run') or 0) + bytes_of_signals(signals, directives - 1)
if ARGV[5] ~= '' then
  bytes = bytes + #ARGV[5] - redis.call('HSTRLEN', BODIES, '@spec')
end
local added = bytes + bytes_of_batch(directives, verdicts)
if not final and added > 0 and not has_room(added, stored_bytes, open, ARGV[14]) then
  return { 'no_room', tonumber(stored_bytes or '0') }
end

if KEYS[4] then
  -- @guard announced-run-2
  announce(announcements, now)
end
local ends = final and inbox
if ends then
  open = open - 1
  redis.call('HDEL', STATE, RUN_INBOX)
end
local closes = ends and open == 0
local before = tonumber(seq or '0')
local sequence = emit(before, signals, directives - 1, closes, true)
version = version + 1
bytes = tonumber(stored_bytes or '0') + bytes + (version <= TURNS_KEPT and TURN_BYTES or 0)
local changed = { '@run|turn' .. int(version), ARGV[16] .. ' ' .. int(now) .. ' ' .. int(before) .. ' ' .. int(sequence),
  '@run|version', int(version), '@run|token', ARGV[2], '@run|status', ARGV[6], '@run|wake_at', ARGV[7],
  '@run|outbox', ARGV[9], '@run|changed_at', int(now), '@run|held', ARGV[11],
  '@run|inputs', int(tonumber(inputs or '0') - tonumber(ARGV[10])),
  'seq', int(sequence), 'open', int(open), 'count', int(tonumber(count or '0') + fresh) }
if ends then
  add_fields(changed, '@run|ended_at', int(now))
elseif inbox then
  add_fields(changed, RUN_INBOX, rest)
end
if version > TURNS_KEPT then
  redis.call('HDEL', STATE, '@run|turn' .. int(version - TURNS_KEPT))
end
local bodies = { '@run', ARGV[4] }
if ARGV[5] ~= '' then
  add_fields(bodies, '@spec', ARGV[5])
end
local facts = { open = open, seq = sequence, inbox = false, run = not ends and rest, bytes = bytes, slot_for = offers_for() }
if fresh > 0 then
  facts.fields, facts.bodies = changed, bodies
else
  add_fields(changed, 'bytes', int(bytes))
  redis.call('HSET', BODIES, unpack(bodies))
  if closes then
    close_request(now, ARGV[13], unpack(changed))
  else
    redis.call('HSET', STATE, unpack(changed))
  end
end
accept_batch(directives, verdicts, now, ARGV[13], facts)
-- What somebody else had accepted before, and what ended before, would never be heard of again.
for position = 1, #verdicts do
  if verdicts[position] == 'existing' and facts.run then
    local terminal = redis.call('HGET', STATE, ARGV[directives + (position - 1) * ACCEPT_FIELDS] .. '|terminal')
    if terminal then
      facts.run = facts.run .. terminal .. ','
      redis.call('HSET', STATE, RUN_INBOX, facts.run)
    end
  end
end
if KEYS[6] then
  after_acceptance(enqueue_batch, directives, verdicts, now, facts.handed)
end
return { 'committed', version, int(now), (facts.run and facts.run ~= '') and 1 or 0, facts.seq }
