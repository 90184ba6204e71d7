-- Accepts a directive that is submitted under a key, or says which one stands for it: once in a window, once after quiet, or one at a time.
-- Must never begin a second one where one counts, nor change what an attempt was made of; nor do either twice for one submission.
-- @include include-entrance.lua
-- @include include-once.lua
-- @include include-sweep.lua
--
-- KEYS[4..6] as include-entrance.lua says
-- ARGV[1..4] as accept.lua   ARGV[5] dedupe | debounce | refuse | join | replace: what the key is for, or what happens if one is open
-- ARGV[6] window_ms, or at_most_ms of what is debounced ('' = neither)   ARGV[7] token of this submission   ARGV[8] 1 = there is room for
--   one more   ARGV[9] reason for which one is cancelled that is replaced   ARGV[10..] as `announce` reads them, then the directive
-- Returns { 'conflict', id, stored digest } | { 'no_room', bytes that the request holds } | { 'full' }: it would begin, but for ARGV[8]
--   | { 'open', part, id, its deadline }
--   | { 'ok', now, 'accepted' | 'existing', outcome, part, id, until, part and id of what is cancelled for it ('' = nothing),
--     1 = the sweeper is to look at it soon: it waits for the end of another one, or is in steps }.
local FIRST = after_announcements(10)
local MODE, TOKEN = ARGV[5], ARGV[7]
local ID, DIGEST, DEADLINE, ENDS = ARGV[FIRST], ARGV[FIRST + 2], ARGV[FIRST + 4], ARGV[FIRST + 6] ~= ''

-- How much longer than the deadline of another one something waits for its end, should nobody look: a worker is gone by then.
local HOUR_MS = KEY_KEPT_MS
-- Whoever submits what replaces another one has ended that by then, or is dead.
local REPLACED_LOOK_MS = 1000

local now = now_ms()

-- `deadline_ms`, when it may begin, `start_by_ms` or -, as include-accept.lua says.
local function own_begin()
  local deadline_ms, word, start_by = string.match(DEADLINE, '^(%d+) (%S+) (%S+)$')
  return tonumber(deadline_ms or DEADLINE), begins_at(word or '-', now), start_by or '-'
end

-- `kept_until`: so long at least, and KEY_KEPT_MS more; what is remembered for longer already stays so.
local function remember(outcome, part, id, until_at, replaced, kept_until)
  local place = int(redis.call('HINCRBY', GUARD, 'n', 1) % TOKENS_KEPT)
  local oldest = redis.call('HGET', GUARD, 'r:' .. place)
  if oldest then
    redis.call('HDEL', GUARD, 't:' .. oldest)
  end
  redis.call('HSET', GUARD, 'r:' .. place, TOKEN, 't:' .. TOKEN, DIGEST .. ' ' .. outcome .. ' ' .. part .. ' ' .. id .. ' ' .. int(until_at)
    .. ' ' .. (replaced and replaced.part .. ' ' .. replaced.id or ''))
  redis.call('PEXPIRE', GUARD, int(math.max(kept_until - now + KEY_KEPT_MS, redis.call('PTTL', GUARD))))
end

local function reply(verdict, outcome, part, id, until_at, replaced, waits)
  return { 'ok', int(now), verdict, outcome, part, id, int(until_at), replaced and replaced.part or '', replaced and replaced.id or '',
    waits and 1 or 0 }
end

-- The same submission once more.
local function again(stored)
  local digest, outcome, part, id, until_at, of, replaced = string.match(stored, '^(%S+) (%S+) (%S+) (%S+) (%d+) (%S*) ?(%S*)$')
  if digest ~= DIGEST then
    return { 'conflict', id, digest }
  end
  local in_steps = outcome == 'debounced' and not KEYS[4]
  return reply('existing', outcome, part, id, tonumber(until_at), of ~= '' and { part = of, id = replaced }, in_steps)
end

-- What counts under the key, while it is open; nil = nothing is.
local function open_one(part, id)
  if not is_open(part, id) then
    return nil
  end
  local state = tag_of_part(part) .. ':state'
  local read = redis.call('HMGET', state, id .. '|status', id .. '|fence', id .. '|cancel', id .. '|behind', id .. '|given', id .. '|lane')
  local lane, accepted_at, deadline_at = given_of(state, id, read[5], read[6])
  return { part = part, id = id, status = read[1], begun = read[2], cancelled = read[3], behind = read[4], lane = lane,
    accepted_at = accepted_at, deadline_at = deadline_at }
end

-- For the end of what this one has to wait: of the open one where an attempt of it may run, else of what that one waits for.
local function to_wait_for(open)
  if open.status == 'running' then
    return open
  end
  local part, id = string.match(open.behind or '', '^(%S+) (%S+)')
  return open_one(part, id)
end

-- Where what counts has ended while it waited, the one that it waited for may run.
local function left_open(part, id)
  local behind = part and redis.call('HGET', tag_of_part(part) .. ':state', id .. '|behind')
  local before, before_id = string.match(behind or '', '^(%S+) (%S+)')
  return open_one(before, before_id)
end

-- It begins, once `before` has ended (nil = at once). Returns a `reply`, or a refusal.
local function begin(outcome, replaced, before)
  if ARGV[8] ~= '1' then
    return { 'full' }
  end
  local verdicts, fresh, request = judge_batch(FIRST)
  if not verdicts then
    return { 'conflict', fresh, request }
  elseif fresh == 0 then
    -- Long ago: its token is forgotten.
    return reply('existing', outcome, OWN_PART, ID, now)
  end
  if not has_room(bytes_of_batch(FIRST, verdicts), request[7], tonumber(request[3] or '0') + fresh, ARGV[3]) then
    return { 'no_room', tonumber(request[7] or '0') }
  end
  local deadline_ms, at, start_by = own_begin()
  local until_at = (MODE == 'dedupe') and now + tonumber(ARGV[6]) or (MODE == 'debounce') and at or at + deadline_ms
  local ends_at = at + deadline_ms
  if KEYS[4] then
    announce(10, now)
  end
  if before then
    local held_until = before.deadline_at + HOUR_MS
    ARGV[FIRST + 4] = int(deadline_ms) .. ' t' .. int(held_until) .. ' -'
    until_at, ends_at = held_until + deadline_ms, held_until + deadline_ms
  end
  accept_batch(FIRST, verdicts, now, ARGV[1], open_request(request, fresh, fresh, now, ARGV[2] ~= '' and ARGV[2]))
  if before then
    redis.call('HSET', STATE, ID .. '|behind', before.part .. ' ' .. before.id .. ' ' .. int(at) .. ' ' .. int(deadline_ms) .. ' ' .. start_by)
  elseif KEYS[6] then
    -- What fails of it the sweeper does later.
    pcall(enqueue_batch, FIRST, verdicts, ARGV[4], now)
  end
  -- What ends as it is accepted takes nothing's place.
  if not (MODE == 'debounce' and ENDS) then
    redis.call('HSET', GUARD, 'part', OWN_PART, 'id', ID, 'until', int(until_at))
    if MODE == 'debounce' then
      redis.call('HSET', GUARD, 'latest', int(now + tonumber(ARGV[6])))
    end
  end
  local retention_ms = tonumber(ARGV[1])
  local window_ms = (MODE == 'dedupe') and tonumber(ARGV[6]) or 0
  remember(outcome, OWN_PART, ID, until_at, replaced, ENDS and now + math.max(window_ms, retention_ms) or math.max(until_at, ends_at))
  return reply('accepted', outcome, OWN_PART, ID, until_at, replaced, before)
end

-- What is open begins at another instant, perhaps in another lane; and whoever has this content notified of is notified of its end.
local function announce_change(open, lane, at)
  local member = request_id() .. '/' .. open.id
  if drop_later(KEYS[4], member .. '|' .. open.lane) then
    add_later(KEYS[4], member .. '|' .. lane, at)
  else
    look_by(KEYS[4], member, int(at), false)
  end
  for word = 12, FIRST - 1, 2 do
    if string.find(ARGV[word + 1], '@notice/', 1, true) == 1 then
      look_by(KEYS[4], request_id() .. '/@notice/' .. open.id, int(now + tonumber(ARGV[word])), false)
    end
  end
end

-- The content of this one takes the place of that of `open`, which begins after quiet, but not later than `latest`.
local function take_place(open, latest)
  turn_to(tag_of_part(open.part))
  local deadline_ms, at, start_by = own_begin()
  at = math.max(now, math.min(at, latest))
  local held = redis.call('HMGET', STATE, 'bytes', 'open')
  local more = #ARGV[FIRST + 5] - redis.call('HSTRLEN', BODIES, open.id)
  if not has_room(more, held[1], held[2], ARGV[3]) then
    return { 'no_room', tonumber(held[1] or '0') }
  end
  local by = (start_by ~= '-') and int(at + tonumber(start_by)) or '-'
  local lane = ARGV[FIRST + 3]
  local record = { open.id .. '|digest', DIGEST, 'bytes', int(tonumber(held[1] or '0') + more) }
  redis.call('HSET', BODIES, open.id, ARGV[FIRST + 5])
  if ARGV[FIRST + 8] ~= '' then
    add_fields(record, open.id .. '|noticed', ARGV[FIRST + 8])
  end
  change_begin(record, open.id, { type = ARGV[FIRST + 1], lane = lane, accepted_at = open.accepted_at, deadline_ms = deadline_ms }, at, by)
  if KEYS[4] then
    announce_change(open, lane, at)
    note_changed(10, now)
  end
  remember('debounced', open.part, open.id, at, nil, at + deadline_ms)
  return reply('existing', 'debounced', open.part, open.id, at, nil, not KEYS[4])
end

-- It gets no other attempt, and the worker of the one that runs is to stop it.
local function replace(open)
  local answer = begin('replaced', open, to_wait_for(open))
  if answer[1] == 'ok' then
    turn_to(tag_of_part(open.part))
    redis.call('HSETNX', STATE, open.id .. '|cancel', ARGV[9])
    redis.call('HSETNX', STATE, open.id .. '|cancel_at', int(now))
    if open.status == 'accepted' then
      -- Of what was never claimed nobody asks whether it is cancelled.
      redis.call('HSET', STATE, open.id .. '|status', 'waiting', open.id .. '|next_attempt_at', int(now))
    end
    if KEYS[4] then
      look_by(KEYS[4], request_id() .. '/' .. open.id, int(now + REPLACED_LOOK_MS), false)
    end
  end
  return answer
end

local part, id, until_at, latest, stored = unpack(redis.call('HMGET', GUARD, 'part', 'id', 'until', 'latest', 't:' .. TOKEN))
if stored then
  return again(stored)
end
if MODE == 'dedupe' then
  local is_there = part and tonumber(until_at) > now and redis.call('EXISTS', tag_of_part(part) .. ':state') == 1
  return is_there and reply('existing', 'deduplicated', part, id, tonumber(until_at)) or begin('began')
end
local open = open_one(part, id)
if MODE == 'debounce' then
  local waits = open and open.status == 'waiting' and not open.begun and not open.cancelled and not ENDS
  return waits and take_place(open, tonumber(latest)) or begin('began')
end
open = open or left_open(part, id)
if not open then
  return begin('began')
elseif open.part == OWN_PART and open.id == ID then
  return reply('existing', 'joined', open.part, open.id, open.deadline_at)
elseif MODE == 'refuse' then
  return { 'open', open.part, open.id, int(open.deadline_at) }
elseif MODE == 'join' then
  return reply('existing', 'joined', open.part, open.id, open.deadline_at)
end
return replace(open)
