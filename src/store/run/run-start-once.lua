-- Begins a run that is submitted under a key, or says which one stands for it: once in a window, once after quiet, or one at a time.
-- Must never begin a second one where one counts, nor change what a turn may have read; nor do either twice for one submission.
-- @include include-run.lua
-- @include include-under-key.lua
--
-- KEYS[4..6] as include-entrance.lua says, of the lane of runs
-- ARGV[1..6] as run-start.lua   ARGV[7..10] mode, ms ('' = none), token, has_room (1 = yes) as include-under-key.lua says
-- ARGV[11] how long the run may last, ms   ARGV[12..] as `announce` reads them
-- Returns what `decide` returns; every id is @run.
-- Fields of the state: `@run|until`, when it ends at most; `@run|behind`, as once-release.lua says; `@run|replaced`, another one began in its
-- place, and it is to be cancelled.
local FIRST = 12
local RUN_NOW = { digest = ARGV[1], agent = ARGV[2], spec = ARGV[3], trace = ARGV[4] }
local MOST_BYTES, WHEN, LASTS_MS = ARGV[5], ARGV[6], tonumber(ARGV[11])
local GIVEN_NOW = { mode = ARGV[7], ms = tonumber(ARGV[8]), token = ARGV[9], digest = ARGV[1], has_room = ARGV[10] == '1', id = RUN }

-- Whoever submits what replaces another one has cancelled that by then, or is dead.
local REPLACED_LOOK_MS = 1000

local now = now_ms()
local does = {}

-- nil = nothing is open.
function does.open_one(part, id)
  if not is_open(part, id) then
    return nil
  end
  local state = tag_of_part(part) .. ':state'
  local read = redis.call('HMGET', state, '@run|status', '@run|version', '@run|begin', '@run|until', '@run|behind')
  return { part = part, id = id, is_new = read[1] == 'pending' and read[2] == '0', lane = 'run', behind = read[5],
    begins_at = tonumber(string.match(read[3] or '', '^%d+')) or 0, deadline_at = tonumber(read[4] or '') or now, is_to_end = is_to_end(state) }
end

-- For the end of what this one has to wait: one that waits itself, and is to end, never begins; what that one waits for may go on.
local function to_wait_for(open)
  -- @guard once-run-chain
  if not open.behind then
    return open
  end
  local part, id = string.match(open.behind, '^(%S+) (%S+)')
  return does.open_one(part, id)
end

-- What it has that waits for `before`, and until when it lasts at most. Should nobody look, it begins long after that has to have ended.
local function waiting_for(before, at, begin)
  local start_by = tonumber(string.match(begin, ' (%d+)$') or '')
  local behind = before.part .. ' ' .. before.id .. ' ' .. int(at) .. ' ' .. int(LASTS_MS) .. ' ' .. (start_by and int(start_by - at) or '-')
  local held_until = math.max(at, before.deadline_at + HOUR_MS)
  return { '@run|behind', behind, '@run|begin', int(held_until) .. ' -' }, held_until + LASTS_MS
end

function does.begin(outcome, replaced, before)
  if not GIVEN_NOW.has_room then
    return { 'full' }
  elseif redis.call('HEXISTS', STATE, '@run|digest') == 1 then
    -- Long ago: its token is forgotten.
    return reply('existing', outcome, OWN_PART, RUN, now)
  end
  local request, held = opening_of_run(RUN_NOW.spec, MOST_BYTES)
  if not request then
    return { 'no_room', held }
  end
  local begin, at = begin_of_run(WHEN, now)
  local fields, ends_at = { '@run|begin', begin }, at + LASTS_MS
  if before then
    fields, ends_at = waiting_for(before, at, begin)
  elseif WHEN == '' then
    fields = {}
  end
  if KEYS[4] then
    announce(FIRST, now)
  end
  add_fields(fields, '@run|until', int(ends_at))
  write_run(request, RUN_NOW, now, unpack(fields))
  if not before and KEYS[6] and not is_later(WHEN) then
    after_acceptance(enqueue_turn, 0, RUN_NOW.agent, now)
  end
  local mode = GIVEN_NOW.mode
  local until_at = (mode == 'dedupe') and now + GIVEN_NOW.ms or (mode == 'debounce') and at or ends_at
  count(GIVEN_NOW, RUN, until_at)
  remember(GIVEN_NOW, outcome, OWN_PART, RUN, until_at, replaced)
  return reply('accepted', outcome, OWN_PART, RUN, until_at, replaced, before)
end

-- From its instant on an engine may have read it.
function does.waits(open)
  -- @guard once-run-begun
  return open.is_new and open.begins_at > now and not open.is_to_end
end

-- The content of this one takes the place of that of `open`, which begins after quiet, but not later than `latest`.
function does.take_place(open, latest)
  turn_to(tag_of_part(open.part))
  local begin, own_at = begin_of_run(WHEN, now)
  -- @guard once-run-latest
  local at = math.max(now, math.min(own_at, latest))
  local start_by = tonumber(string.match(begin, ' (%d+)$') or '')
  local held = redis.call('HMGET', STATE, 'bytes', 'open')
  local more = #RUN_NOW.spec - redis.call('HSTRLEN', BODIES, '@spec')
  if not has_room(more, held[1], held[2], MOST_BYTES) then
    return { 'no_room', tonumber(held[1] or '0') }
  end
  redis.call('HSET', BODIES, '@spec', RUN_NOW.spec)
  redis.call('HSET', STATE, 'bytes', int(tonumber(held[1] or '0') + more), '@run|digest', RUN_NOW.digest, '@run|agent', RUN_NOW.agent,
    '@run|trace', RUN_NOW.trace, '@run|changed_at', int(now), '@run|until', int(at + LASTS_MS),
    '@run|begin', int(at) .. ' ' .. (start_by and int(at + start_by - own_at) or '-'))
  if KEYS[4] then
    announce_change(open, open.lane, at, FIRST + 2, after_announcements(FIRST) - 1)
    note_changed(FIRST, now)
  end
  remember(GIVEN_NOW, 'debounced', open.part, RUN, at)
  return reply('existing', 'debounced', open.part, RUN, at, nil, not KEYS[4])
end

-- What waits does not begin any more, and of what has begun an engine takes the cancellation from whoever submitted this, or from the sweeper.
function does.replace(open)
  local answer = does.begin('replaced', open, to_wait_for(open))
  if answer[1] == 'ok' then
    turn_to(tag_of_part(open.part))
    redis.call('HSET', STATE, '@run|replaced', '1')
    if KEYS[4] then
      look_by(KEYS[4], request_id() .. '/' .. RUN, int(now + REPLACED_LOOK_MS))
    end
  end
  return answer
end

return decide(GIVEN_NOW, does)
