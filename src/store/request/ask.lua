-- Records what the tool of a running directive asks, and says so. The claim is given back until all is answered or the time is
-- up, or its worker holds the call meanwhile.
-- Must never ask for a worker whose claim was taken over, nor count a failure.
-- @include include-wait.lua
-- @include include-claims.lua
-- @include include-questions.lua
--
-- ARGV[1] directive id   ARGV[2] fence   ARGV[3] h = the worker holds the call, r = the claim is given back
-- ARGV[4] round   ARGV[5] number of the first question   ARGV[6] until, milliseconds since the epoch
-- ARGV[7] 1 = a call was asked afresh in this or an earlier round   ARGV[8] the round as JSON   ARGV[9] the most bytes of a request
-- ARGV[10] the deadline of the directive from now on, milliseconds since the epoch ('' = as it was)
-- ARGV[11..] signals, JSON, one for each question
-- Returns { 'asked' } | { 'cancelled' } | { 'ended' } | { 'stale' } | { 'unknown' } | { 'no_room' }.
local id, fence, how, first = ARGV[1], ARGV[2], ARGV[3], ARGV[5]
local record = redis.call('HMGET', STATE, id .. '|status', id .. '|fence', id .. '|cancel', id .. '|asked', id .. '|waits',
  'seq', 'bytes', 'open', claim_field(id, fence))
if not record[1] then
  return { 'unknown' }
elseif is_terminal(record[1]) then
  return { 'ended' }
elseif record[2] ~= fence then
  return { 'stale' }
end
local before = asked_round(record[4])
if before and before.fence == fence and int(before.first) == first then
  -- A number belongs to one question: another one under it would get an answer that is not its own.
  return { redis.call('HGET', BODIES, QUESTION .. id) == ARGV[8] and 'asked' or 'stale' }
elseif record[1] ~= 'running' then
  return { 'stale' }
elseif record[3] then
  return { 'cancelled' }
end
local count = #ARGV - 10
if not has_room(bytes_of_signals(11, #ARGV) + #ARGV[8], record[7], record[8], ARGV[9]) then
  return { 'no_room' }
end
forget_round(id, record[4])
grow(#ARGV[8])
redis.call('HSET', BODIES, QUESTION .. id, ARGV[8])
local now = now_ms()
local sequence = int((emit(tonumber(record[6] or '0'), 11, #ARGV, false)))
local changed = { 'seq', sequence, id .. '|asked',
  table.concat({ how, ARGV[4], first, count, count, ARGV[6], fence, ARGV[7] }, ' ') }
local function set(field, value)
  changed[#changed + 1] = id .. field
  changed[#changed + 1] = value
end
if ARGV[10] ~= '' then
  set('|deadline_at', ARGV[10])
end
if how == 'r' then
  local said = string.match(record[5] or '', ' (%S*)$') or ''
  if not string.find(',' .. said, ',input_required,', 1, true) then
    said = said .. 'input_required,'
  end
  set('|status', 'waiting')
  set('|next_attempt_at', ARGV[6])
  set('|waits', fence .. ' input_required ' .. ARGV[6] .. ' ' .. said)
  claim_ended(changed, id, fence, record[9], now, 'input_required', math.max(0, tonumber(ARGV[6]) - now), 1)
end
redis.call('HSET', STATE, unpack(changed))
return { 'asked' }
