-- Records the answer to one question of a directive's tool, and says so. After the last answer the next attempt may begin.
-- Must never replace an answer, nor take one when the question is over.
-- @include include-questions.lua
--
-- ARGV[1] directive id   ARGV[2] number of the question   ARGV[3] fence ('' = a caller answers; else the worker that holds the claim)
-- ARGV[4] action   ARGV[5] cause   ARGV[6] digest   ARGV[7] who answers, without white space ('-' = unknown)
-- ARGV[8] the answer as JSON   ARGV[9] the most bytes of a request   ARGV[10] signal JSON
-- Returns { 'answered', at, questions of the round that are open still }
--   | { 'already', at, action, cause, digest, by }: it has this answer | { 'over' } | { 'unknown' } | { 'no_room', bytes }.
local id, number, fence = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local record = redis.call('HMGET', STATE, id .. '|status', id .. '|fence', id .. '|asked', id .. '|cancel',
  id .. '|input' .. ARGV[2], 'seq', 'bytes', 'open', id .. '|lease_until')
local holder, lease_until = record[2], record[9]
local round = asked_round(record[3])
if not record[1] or not round or number >= round.first + round.count then
  return { 'unknown' }
end
local at, action, cause, digest, by = string.match(record[5] or '', '^(%d+) (%S+) (%S+) (%S+) (%S+)$')
if at then
  return { 'already', tonumber(at), action, cause, digest, by }
end
local now = now_ms()
local held = round.how == 'h'
if is_terminal(record[1]) or number < round.first or round.open == 0 then
  return { 'over' }
elseif fence ~= '' then
  if record[1] ~= 'running' or holder ~= fence then
    return { 'over' }
  end
elseif record[4] or round.until_at <= now then
  return { 'over' }
elseif held and (record[1] ~= 'running' or holder ~= round.fence or tonumber(lease_until or '0') <= now) then
  return { 'over' }
elseif not held and record[1] ~= 'waiting' then
  return { 'over' }
end
if not has_room(bytes_of_signals(10, 10) + #ARGV[8], record[7], record[8], ARGV[9]) then
  return { 'no_room', tonumber(record[7]) }
end
grow(#ARGV[8] + RECORD_BYTES)
redis.call('HSET', BODIES, answer_field(id, number), ARGV[8])
local open = round.open - 1
local changed = { 'seq', int((emit(tonumber(record[6] or '0'), 10, 10, false))),
  id .. '|input' .. ARGV[2], table.concat({ int(now), ARGV[4], ARGV[5], ARGV[6], ARGV[7] }, ' '),
  id .. '|asked', table.concat({ round.how, round.round, round.first, round.count, open, int(round.until_at), round.fence,
    round.afresh }, ' ') }
if open == 0 and record[1] == 'waiting' then
  changed[#changed + 1] = id .. '|next_attempt_at'
  changed[#changed + 1] = int(now)
end
redis.call('HSET', STATE, unpack(changed))
return { 'answered', int(now), open }
