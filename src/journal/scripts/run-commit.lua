-- Ends a turn: document, signals, new directives and what was consumed of the inbox, all at once; where all keys are in one slot
-- it also announces, and enqueues the directives.
-- Must never write a turn that did not begin from the current version, nor end a run that has something left to read.
-- @include include-entrance.lua
--
-- KEYS[4], KEYS[5] as include-entrance.lua says
-- ARGV[1] version the turn began from   ARGV[2] token of this commit, which tells a repeat
-- ARGV[3] bytes consumed of the inbox   ARGV[4] document JSON   ARGV[5] spec JSON ('' = as before)
-- ARGV[6] status   ARGV[7] wake_at ('' = never)   ARGV[8] 1 = the run ends here   ARGV[9] entries in the outbox
-- ARGV[10] inputs consumed of the inbox   ARGV[11] inputs that the document holds
-- ARGV[12] the most directives that may be open ('' = no limit)   ARGV[13] retention_ms
-- ARGV[14] the most bytes of a request, which only the end of the run may pass
-- ARGV[15] number of signals   ARGV[16] when the turn was read   ARGV[17] channel on which the engine that takes this turn
--   hears of ends ('' = none)   ARGV[18] bytes of the largest envelope that a job carries   ARGV[19..] as `announce` reads them,
--   then the signals, JSON, then the directives, as include-accept.lua says
-- Returns { 'committed', version, now, 1 = there is more to read, last sequence } | { 'version', current one } | { 'more' }
--   | { 'conflict', id, stored digest } | { 'overflow', directives that would be open }
--   | { 'no_room', bytes that the request holds } | { 'unknown' }.
--
-- The field `@run|turn<version>` of the state says when a turn was read and written, and which signals it wrote:
-- `<read at> <written at> <sequence before them> <the last one>`. The newest are kept; nothing is decided by them.
local TURNS_KEPT, TURN_BYTES = 128, 96

local run = redis.call('HMGET', STATE, '@run|version', '@run|token', RUN_INBOX, '@run|inputs', unpack(OPENING_FIELDS))
local version, inbox, final = tonumber(run[1] or '-1'), run[3], ARGV[8] == '1'
if not run[1] then
  return { 'unknown' }
end
local now = now_ms()
if version == tonumber(ARGV[1]) + 1 and run[2] == ARGV[2] then
  return { 'committed', version, int(now), (inbox and inbox ~= '') and 1 or 0, tonumber(run[9]) }
elseif version ~= tonumber(ARGV[1]) then
  return { 'version', version }
end

local rest = inbox and string.sub(inbox, tonumber(ARGV[3]) + 1)
if final and inbox and rest ~= '' then
  return { 'more' }
end
local signals = after_announcements(19)
local directives = signals + tonumber(ARGV[15])
local verdicts, fresh, stored = judge_batch(directives)
if not verdicts then
  return { 'conflict', fresh, stored }
end
-- The run itself counts as one of what is open.
local open = tonumber(run[7]) + fresh
if ARGV[12] ~= '' and fresh > 0 and open - 1 > tonumber(ARGV[12]) then
  return { 'overflow', open - 1 }
end
local bytes = #ARGV[4] - redis.call('HSTRLEN', BODIES, '@run')
if ARGV[5] ~= '' then
  bytes = bytes + #ARGV[5] - redis.call('HSTRLEN', BODIES, '@spec')
end
local added = bytes + bytes_of_signals(signals, directives - 1) + bytes_of_batch(directives, verdicts)
if not final and added > 0 and not has_room(added, run[11], open, ARGV[14]) then
  return { 'no_room', tonumber(run[11] or '0') }
end

if KEYS[4] then
  announce(19, now)
end
local ends = final and inbox
if ends then
  open = open - 1
  redis.call('HDEL', STATE, RUN_INBOX)
end
local closes = ends and open == 0
local sequence = emit(tonumber(run[9] or '0'), signals, directives - 1, closes)
local before = int(tonumber(run[9] or '0'))
version = version + 1
local changed = { '@run|turn' .. int(version), ARGV[16] .. ' ' .. int(now) .. ' ' .. before .. ' ' .. int(sequence),
  '@run|version', int(version), '@run|token', ARGV[2], '@run|status', ARGV[6], '@run|wake_at', ARGV[7],
  '@run|outbox', ARGV[9], '@run|changed_at', int(now), '@run|held', ARGV[11], '@run|engine', ARGV[17],
  '@run|inputs', int(tonumber(run[4] or '0') - tonumber(ARGV[10])),
  'seq', int(sequence), 'open', int(open), 'count', int(tonumber(run[8] or '0') + fresh) }
if ends then
  changed[#changed + 1] = '@run|ended_at'
  changed[#changed + 1] = int(now)
elseif inbox then
  changed[#changed + 1] = RUN_INBOX
  changed[#changed + 1] = rest
end
grow(bytes + (version <= TURNS_KEPT and TURN_BYTES or 0))
if version > TURNS_KEPT then
  redis.call('HDEL', STATE, '@run|turn' .. int(version - TURNS_KEPT))
end
redis.call('HSET', BODIES, '@run', ARGV[4])
if ARGV[5] ~= '' then
  redis.call('HSET', BODIES, '@spec', ARGV[5])
end
if closes then
  close_request(now, ARGV[13], unpack(changed))
else
  redis.call('HSET', STATE, unpack(changed))
end
local facts = { open = open, seq = sequence, inbox = false, run = not ends and rest }
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
if KEYS[5] then
  -- What fails of it the sweeper does later.
  pcall(enqueue_batch, directives, verdicts, ARGV[18], now)
end
return { 'committed', version, int(now), (facts.run and facts.run ~= '') and 1 or 0, facts.seq }
