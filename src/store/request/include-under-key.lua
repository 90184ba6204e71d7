-- The outcome of a submission under a key: the same rules for directives and for runs.
-- Must never have a second one begin where one counts, nor change what an attempt or a turn may have read; nor do either twice for one
-- submission.
-- @include include-entrance.lua
-- @include include-once.lua
-- @include include-sweep.lua
--
-- The hash `<request of the key>:once`: part, id = what counts now; until, latest = instants; n = tokens so far, `t:<token>` -> what became of
-- a submission, `r:<n modulo TOKENS_KEPT>` -> token.

-- Tokens kept of submissions that began or changed something; the oldest is removed.
local TOKENS_KEPT = 64
local HOUR_MS = KEY_KEPT_MS
-- A caller whose submission replaces another one has ended that by then, or is dead.
local REPLACED_LOOK_MS = 1000

-- A directive that is open; `may_run`: an attempt of it may be under way; `may_change`: its content may still be replaced.
local function open_directive(state, id)
  local status, begun, cancelled, behind = unpack(redis.call('HMGET', state, id .. '|status', id .. '|fence', id .. '|cancel', id .. '|behind'))
  local lane, accepted_at, deadline_at = given_of(state, id)
  -- @guard once-begun
  local may_change = status == 'waiting' and not begun and not cancelled
  return { status = status, may_run = status == 'running', may_change = may_change, behind = behind, lane = lane, accepted_at = accepted_at,
    deadline_at = deadline_at }
end

-- The same of a run: one that waits itself, and is to end, never begins. From its instant on an engine may have read it.
local function open_run(state, now)
  local status, version, begin, until_at, behind = unpack(redis.call('HMGET', state, '@run|status', '@run|version', '@run|begin', '@run|until',
    '@run|behind'))
  local begins_at = tonumber(string.match(begin or '', '^%d+')) or 0
  -- @guard once-run-begun
  local may_change = status == 'pending' and version == '0' and begins_at > now and not is_to_end(state)
  return { may_run = not behind, may_change = may_change, behind = behind, lane = 'run', deadline_at = tonumber(until_at or '') or now }
end

-- `json`: mode, dedupe | debounce | refuse | join | replace: what the key is for, or what happens if one is open; ms: window_ms, or at_most_ms
--   of what is debounced; token, which names the submission; has_room: whether one more may begin; reason, for which a directive is cancelled
--   that is replaced; lasts_ms, of a run.
-- `own`, of the submission: id (RUN of a run), digest, lane, body, most_bytes; at: when it begins; start_by: ms, or -; lasts_ms;
--   announced: where in ARGV its announcements begin; of a directive: type, retention_ms, ends: whether it ends as it is accepted;
--   fields(id): names and values for the state, where its content takes the place of that of another one;
--   write(behind, held_until, ends_at): has it begin, where it is new and fits, else returns why not. `behind`, as once-release.lua says:
--   what it waits for (nil = nothing), `held_until` at most.
-- Returns { 'conflict', id, stored digest } | { 'no_room', bytes that the request holds } | { 'full' }: it would begin, but for `has_room`
--   | { 'open', part, id, its deadline }
--   | { 'ok', now, 'accepted' | 'existing', outcome, part, id, until, part and id of what is cancelled for it ('' = nothing),
--     1 = the sweeper is to read it soon: it waits for the end of another one, or is in steps }.
local function submit_under_key(json, own, now)
  local of_key, own_part = key_of_request()
  local guard, key, is_run = of_key .. ':once', cjson.decode(json), own.id == RUN

  -- `kept_until`: so long at least, and KEY_KEPT_MS more; what is remembered for longer already stays so. A run: until its request is closed.
  local function remember(outcome, part, id, until_at, replaced, kept_until)
    local place = int(redis.call('HINCRBY', guard, 'n', 1) % TOKENS_KEPT)
    local oldest = redis.call('HGET', guard, 'r:' .. place)
    -- @guard once-forgotten
    if oldest then
      redis.call('HDEL', guard, 't:' .. oldest)
    end
    redis.call('HSET', guard, 'r:' .. place, key.token, 't:' .. key.token, own.digest .. ' ' .. outcome .. ' ' .. part .. ' ' .. id .. ' '
      .. int(until_at) .. ' ' .. (replaced and replaced.part .. ' ' .. replaced.id or ''))
    if is_run then
      redis.call('PERSIST', guard)
    else
      redis.call('PEXPIRE', guard, int(math.max(kept_until - now + KEY_KEPT_MS, redis.call('PTTL', guard))))
    end
  end

  -- It is what counts from now on. What ends as it is accepted takes nothing's place.
  local function count(until_at)
    if key.mode == 'debounce' and own.ends then
      return
    end
    redis.call('HSET', guard, 'part', own_part, 'id', own.id, 'until', int(until_at))
    if key.mode == 'debounce' then
      redis.call('HSET', guard, 'latest', int(now + key.ms))
    end
  end

  local function reply(verdict, outcome, part, id, until_at, replaced, waits)
    return { 'ok', int(now), verdict, outcome, part, id, int(until_at), replaced and replaced.part or '', replaced and replaced.id or '',
      waits and 1 or 0 }
  end

  -- The same submission once more.
  local function again(stored)
    local digest, outcome, part, id, until_at, of, replaced = string.match(stored, '^(%S+) (%S+) (%S+) (%S+) (%d+) (%S*) ?(%S*)$')
    if digest ~= own.digest then
      return { 'conflict', id, digest }
    end
    local in_steps = outcome == 'debounced' and not KEYS[4]
    return reply('existing', outcome, part, id, tonumber(until_at), of ~= '' and { part = of, id = replaced }, in_steps)
  end

  -- nil = nothing is open.
  local function open_one(part, id)
    if not is_open(part, id) then
      return nil
    end
    local state = tag_of_part(part) .. ':state'
    local open = (id == RUN) and open_run(state, now) or open_directive(state, id)
    open.part, open.id = part, id
    return open
  end

  -- The submission that `behind` names, if it is open.
  local function before_it(behind)
    local part, id = string.match(behind or '', '^(%S+) (%S+)')
    return open_one(part, id)
  end

  -- For the end of what this one has to wait: of the open one where that may run, else of what that one waits for.
  local function to_wait_for(open)
    -- @guard once-run-chain
    if open.may_run then
      return open
    end
    -- @guard once-chain
    return before_it(open.behind)
  end

  -- It waits for the end of another one until HOUR_MS after the deadline of that, should no process read it: a worker is gone by then.
  local function begin(outcome, replaced, before)
    local stored = redis.call('HGET', STATE, own.id .. '|digest')
    if not key.has_room then
      return { 'full' }
    elseif stored and stored ~= own.digest then
      return { 'conflict', own.id, stored }
    elseif stored then
      -- Long ago: its token is forgotten.
      return reply('existing', outcome, own_part, own.id, now)
    end
    local held_until = before and math.max(own.at, before.deadline_at + HOUR_MS)
    local ends_at = (held_until or own.at) + own.lasts_ms
    local behind = before and before.part .. ' ' .. before.id .. ' ' .. int(own.at) .. ' ' .. int(own.lasts_ms) .. ' ' .. own.start_by
    local refused = own.write(behind, held_until, ends_at)
    if refused then
      return refused
    end
    local until_at = (key.mode == 'dedupe') and now + key.ms or (key.mode == 'debounce') and own.at or ends_at
    count(until_at)
    local kept_ms = not is_run and math.max((key.mode == 'dedupe') and key.ms or 0, own.retention_ms)
    remember(outcome, own_part, own.id, until_at, replaced, own.ends and now + kept_ms or math.max(until_at, ends_at))
    return reply('accepted', outcome, own_part, own.id, until_at, replaced, before)
  end

  -- The open one begins at another instant, perhaps in another lane; its end is notified as this submission asks.
  local function announce_change(open, at)
    local member = request_id() .. '/' .. open.id
    if drop_later(KEYS[4], member .. '|' .. open.lane) then
      add_later(KEYS[4], member .. '|' .. own.lane, at)
    else
      look_by(KEYS[4], member, int(at))
    end
    for word = own.announced + 2, after_announcements(own.announced) - 1, 2 do
      if string.find(ARGV[word + 1], '@notice/', 1, true) == 1 then
        look_by(KEYS[4], request_id() .. '/@notice/' .. open.id, int(now + tonumber(ARGV[word])))
      end
    end
  end

  -- The content of this one takes the place of that of `open`, which begins after quiet, but not later than `latest`.
  local function take_place(open, latest)
    turn_to(tag_of_part(open.part))
    -- @guard once-latest
    local at = math.max(now, math.min(own.at, latest))
    local content, held = is_run and '@spec' or open.id, redis.call('HMGET', STATE, 'bytes', 'open')
    local more = #own.body - redis.call('HSTRLEN', BODIES, content)
    if not has_room(more, held[1], held[2], own.most_bytes) then
      return { 'no_room', tonumber(held[1] or '0') }
    end
    redis.call('HSET', BODIES, content, own.body)
    local record = own.fields(open.id)
    add_fields(record, 'bytes', int(tonumber(held[1] or '0') + more))
    local given = { type = own.type, lane = own.lane, accepted_at = open.accepted_at, deadline_ms = own.lasts_ms }
    change_begin(record, open.id, given, at, (own.start_by ~= '-') and int(at + tonumber(own.start_by)) or '-')
    if KEYS[4] then
      announce_change(open, at)
      note_changed(own.announced, now)
    end
    remember('debounced', open.part, open.id, at, nil, at + own.lasts_ms)
    return reply('existing', 'debounced', open.part, open.id, at, nil, not KEYS[4])
  end

  -- A directive gets no other attempt, and the worker of the one that runs is to stop it. A run that waits does not begin any more, and of one
  -- that has begun an engine takes the cancellation from the caller of this submission, or from the sweeper.
  local function replace(open)
    local answer = begin('replaced', open, to_wait_for(open))
    if answer[1] ~= 'ok' then
      return answer
    end
    turn_to(tag_of_part(open.part))
    if is_run then
      redis.call('HSET', STATE, '@run|replaced', '1')
    else
      -- @guard once-cancelled
      redis.call('HSETNX', STATE, open.id .. '|cancel', key.reason)
      redis.call('HSETNX', STATE, open.id .. '|cancel_at', int(now))
    end
    if open.status == 'accepted' then
      -- No worker asks whether a directive is cancelled that was never claimed.
      redis.call('HSET', STATE, open.id .. '|status', 'waiting', open.id .. '|next_attempt_at', int(now))
    end
    if KEYS[4] then
      look_by(KEYS[4], request_id() .. '/' .. open.id, int(now + REPLACED_LOOK_MS))
    end
    return answer
  end

  local function deduplicated(part, id, until_at)
    -- @guard dedupe-window
    local is_there = part and tonumber(until_at) > now_ms() and redis.call('EXISTS', tag_of_part(part) .. ':state') == 1
    return is_there and reply('existing', 'deduplicated', part, id, tonumber(until_at)) or begin('began')
  end

  -- One at a time.
  local function one_open(open)
    -- @guard singleton-open
    if not open then
      return begin('began')
    elseif key.mode == 'join' or (open.part == own_part and open.id == own.id) then
      return reply('existing', 'joined', open.part, open.id, open.deadline_at)
    elseif key.mode == 'refuse' then
      return { 'open', open.part, open.id, int(open.deadline_at) }
    end
    return replace(open)
  end

  local part, id, until_at, latest, stored = unpack(redis.call('HMGET', guard, 'part', 'id', 'until', 'latest', 't:' .. key.token))
  -- @guard once-repeat
  if stored then
    return again(stored)
  elseif key.mode == 'dedupe' then
    return deduplicated(part, id, until_at)
  end
  local open = open_one(part, id)
  if key.mode == 'debounce' then
    local waits = open and not own.ends and open.may_change
    return waits and take_place(open, tonumber(latest)) or begin('began')
  end
  -- Where what counts has ended while it waited, the one that it waited for may run.
  -- @guard once-left-open
  open = open or before_it(part and redis.call('HGET', tag_of_part(part) .. ':state', id .. '|behind'))
  return one_open(open)
end
