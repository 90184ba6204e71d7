-- Accepts a directive that is submitted under a key, or says which one stands for it: once in a window, once after quiet, or one at a time.
-- Must never begin a second one where one counts, nor change what an attempt was made of; nor do either twice for one submission.
-- @include include-under-key.lua
--
-- KEYS[4..6] as include-entrance.lua says
-- ARGV[1..3] as accept.lua   ARGV[4..7] mode, ms ('' = none), token, has_room (1 = yes) as include-under-key.lua says
-- ARGV[8] reason for which one is cancelled that is replaced   ARGV[9..] as `announce` reads them, then the directive
-- Returns what `decide` returns.
local FIRST = after_announcements(9)
local ID, DIGEST, DEADLINE = ARGV[FIRST], ARGV[FIRST + 2], ARGV[FIRST + 4]
local GIVEN_NOW = { mode = ARGV[4], ms = tonumber(ARGV[5]), token = ARGV[6], digest = DIGEST, has_room = ARGV[7] == '1', id = ID,
  ends = ARGV[FIRST + 6] ~= '' }

-- Whoever submits what replaces another one has ended that by then, or is dead.
local REPLACED_LOOK_MS = 1000

local now = now_ms()
local does = {}

-- `deadline_ms`, when it may begin, `start_by_ms` or -, as include-accept.lua says.
local function own_begin()
  local deadline_ms, word, start_by = string.match(DEADLINE, '^(%d+) (%S+) (%S+)$')
  return tonumber(deadline_ms or DEADLINE), begins_at(word or '-', now), start_by or '-'
end

-- nil = nothing is open.
function does.open_one(part, id)
  if not is_open(part, id) then
    return nil
  end
  local state = tag_of_part(part) .. ':state'
  local read = redis.call('HMGET', state, id .. '|status', id .. '|fence', id .. '|cancel', id .. '|behind')
  local lane, accepted_at, deadline_at = given_of(state, id)
  return { part = part, id = id, status = read[1], begun = read[2], cancelled = read[3], behind = read[4], lane = lane,
    accepted_at = accepted_at, deadline_at = deadline_at }
end

-- For the end of what this one has to wait: of the open one where an attempt of it may run, else of what that one waits for.
local function to_wait_for(open)
  if open.status == 'running' then
    return open
  end
  local part, id = string.match(open.behind or '', '^(%S+) (%S+)')
  -- @guard once-chain +3
  return does.open_one(part, id)
end

-- For the end of another one it waits so much longer than the deadline of that, should nobody look: a worker is gone by then.
function does.begin(outcome, replaced, before)
  if not GIVEN_NOW.has_room then
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
  local mode = GIVEN_NOW.mode
  local deadline_ms, at, start_by = own_begin()
  local until_at = (mode == 'dedupe') and now + GIVEN_NOW.ms or (mode == 'debounce') and at or at + deadline_ms
  local ends_at = at + deadline_ms
  if KEYS[4] then
    announce(9, now)
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
    after_acceptance(enqueue_batch, FIRST, verdicts, now)
  end
  count(GIVEN_NOW, ID, until_at)
  local retention_ms = tonumber(ARGV[1])
  local window_ms = (mode == 'dedupe') and GIVEN_NOW.ms or 0
  local kept_until = GIVEN_NOW.ends and now + math.max(window_ms, retention_ms) or math.max(until_at, ends_at)
  remember(GIVEN_NOW, outcome, OWN_PART, ID, until_at, replaced, kept_until)
  return reply('accepted', outcome, OWN_PART, ID, until_at, replaced, before)
end

function does.waits(open)
  -- @guard once-begun
  return open.status == 'waiting' and not open.begun and not open.cancelled
end

-- The content of this one takes the place of that of `open`, which begins after quiet, but not later than `latest`.
function does.take_place(open, latest)
  turn_to(tag_of_part(open.part))
  local deadline_ms, at, start_by = own_begin()
  -- @guard once-latest
  at = math.max(now, math.min(at, latest))
  local held = redis.call('HMGET', STATE, 'bytes', 'open')
  local more = #ARGV[FIRST + 5] - redis.call('HSTRLEN', BODIES, open.id)
  if not has_room(more, held[1], held[2], ARGV[3]) then
    return { 'no_room', tonumber(held[1] or '0') }
  end
  local by = (start_by ~= '-') and int(at + tonumber(start_by)) or '-'
  local lane = ARGV[FIRST + 3]
  -- @guard once-digest
  local record = { open.id .. '|digest', DIGEST, 'bytes', int(tonumber(held[1] or '0') + more) }
  redis.call('HSET', BODIES, open.id, ARGV[FIRST + 5])
  if ARGV[FIRST + 8] ~= '' then
    add_fields(record, open.id .. '|noticed', ARGV[FIRST + 8])
  end
  change_begin(record, open.id, { type = ARGV[FIRST + 1], lane = lane, accepted_at = open.accepted_at, deadline_ms = deadline_ms }, at, by)
  if KEYS[4] then
    announce_change(open, lane, at, 11, FIRST - 1)
    note_changed(9, now)
  end
  remember(GIVEN_NOW, 'debounced', open.part, open.id, at, nil, at + deadline_ms)
  return reply('existing', 'debounced', open.part, open.id, at, nil, not KEYS[4])
end

-- It gets no other attempt, and the worker of the one that runs is to stop it.
function does.replace(open)
  local answer = does.begin('replaced', open, to_wait_for(open))
  if answer[1] == 'ok' then
    turn_to(tag_of_part(open.part))
    -- @guard once-cancelled
    redis.call('HSETNX', STATE, open.id .. '|cancel', ARGV[8])
    redis.call('HSETNX', STATE, open.id .. '|cancel_at', int(now))
    if open.status == 'accepted' then
      -- Of what was never claimed nobody asks whether it is cancelled.
      redis.call('HSET', STATE, open.id .. '|status', 'waiting', open.id .. '|next_attempt_at', int(now))
    end
    if KEYS[4] then
      look_by(KEYS[4], request_id() .. '/' .. open.id, int(now + REPLACED_LOOK_MS))
    end
  end
  return answer
end

return decide(GIVEN_NOW, does)
