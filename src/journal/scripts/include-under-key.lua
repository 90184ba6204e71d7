-- What becomes of a submission under a key: the same rules for directives and for runs.
-- Must never have a second one begin where one counts, nor do anything twice for one submission.
-- @include include-entrance.lua
-- @include include-once.lua
-- @include include-sweep.lua
--
-- `given`, of a submission: mode, dedupe | debounce | refuse | join | replace: what the key is for, or what happens if one is open; ms,
--   window_ms, or at_most_ms of what is debounced; token, which names the submission; digest of its content; has_room, whether one more may
--   begin; ends, whether it ends as it is accepted.
-- `does`: open_one(part, id), what counts while it is open; begin(outcome, replaced, before), once `before` has ended (nil = at once);
--   waits(open), whether its content may still be replaced; take_place(open, latest); replace(open). All but the first return the reply.
local HOUR_MS = KEY_KEPT_MS

-- `kept_until`: so long at least, and KEY_KEPT_MS more; what is remembered for longer already stays so. nil = until its request is closed.
local function remember(given, outcome, part, id, until_at, replaced, kept_until)
  local place = int(redis.call('HINCRBY', GUARD, 'n', 1) % TOKENS_KEPT)
  local oldest = redis.call('HGET', GUARD, 'r:' .. place)
  if oldest then
    redis.call('HDEL', GUARD, 't:' .. oldest)
  end
  redis.call('HSET', GUARD, 'r:' .. place, given.token, 't:' .. given.token, given.digest .. ' ' .. outcome .. ' ' .. part .. ' ' .. id .. ' '
    .. int(until_at) .. ' ' .. (replaced and replaced.part .. ' ' .. replaced.id or ''))
  if kept_until then
    redis.call('PEXPIRE', GUARD, int(math.max(kept_until - now_ms() + KEY_KEPT_MS, redis.call('PTTL', GUARD))))
  else
    redis.call('PERSIST', GUARD)
  end
end

-- It is what counts from now on. What ends as it is accepted takes nothing's place.
local function count(given, id, until_at)
  if given.mode == 'debounce' and given.ends then
    return
  end
  redis.call('HSET', GUARD, 'part', OWN_PART, 'id', id, 'until', int(until_at))
  if given.mode == 'debounce' then
    redis.call('HSET', GUARD, 'latest', int(now_ms() + given.ms))
  end
end

local function reply(verdict, outcome, part, id, until_at, replaced, waits)
  return { 'ok', int(now_ms()), verdict, outcome, part, id, int(until_at), replaced and replaced.part or '', replaced and replaced.id or '',
    waits and 1 or 0 }
end

-- The same submission once more.
local function again(given, stored)
  local digest, outcome, part, id, until_at, of, replaced = string.match(stored, '^(%S+) (%S+) (%S+) (%S+) (%d+) (%S*) ?(%S*)$')
  if digest ~= given.digest then
    return { 'conflict', id, digest }
  end
  local in_steps = outcome == 'debounced' and not KEYS[4]
  return reply('existing', outcome, part, id, tonumber(until_at), of ~= '' and { part = of, id = replaced }, in_steps)
end

-- Where what counts has ended while it waited, the one that it waited for may run.
local function left_open(does, part, id)
  local behind = part and behind_of(part, id)
  local before, before_id = string.match(behind or '', '^(%S+) (%S+)')
  return does.open_one(before, before_id)
end

-- What is open begins at another instant, perhaps in another lane; and whoever has this content notified of is notified of its end.
-- `first`, `last`: the arguments with its announcements.
local function announce_change(open, lane, at, first, last)
  local member = request_id() .. '/' .. open.id
  if drop_later(KEYS[4], member .. '|' .. open.lane) then
    add_later(KEYS[4], member .. '|' .. lane, at)
  else
    look_by(KEYS[4], member, int(at))
  end
  for word = first, last, 2 do
    if string.find(ARGV[word + 1], '@notice/', 1, true) == 1 then
      look_by(KEYS[4], request_id() .. '/@notice/' .. open.id, int(now_ms() + tonumber(ARGV[word])))
    end
  end
end

local function deduplicated(given, does, part, id, until_at)
  local is_there = part and tonumber(until_at) > now_ms() and redis.call('EXISTS', tag_of_part(part) .. ':state') == 1
  return is_there and reply('existing', 'deduplicated', part, id, tonumber(until_at)) or does.begin('began')
end

-- One at a time.
local function one_open(given, does, open)
  if not open then
    return does.begin('began')
  elseif open.part == OWN_PART and open.id == given.id then
    return reply('existing', 'joined', open.part, open.id, open.deadline_at)
  elseif given.mode == 'refuse' then
    return { 'open', open.part, open.id, int(open.deadline_at) }
  elseif given.mode == 'join' then
    return reply('existing', 'joined', open.part, open.id, open.deadline_at)
  end
  return does.replace(open)
end

-- Returns { 'conflict', id, stored digest } | { 'no_room', bytes that the request holds } | { 'full' }: it would begin, but for `has_room`
--   | { 'open', part, id, its deadline }
--   | { 'ok', now, 'accepted' | 'existing', outcome, part, id, until, part and id of what is cancelled for it ('' = nothing),
--     1 = the sweeper is to look at it soon: it waits for the end of another one, or is in steps }.
local function decide(given, does)
  local part, id, until_at, latest, stored = unpack(redis.call('HMGET', GUARD, 'part', 'id', 'until', 'latest', 't:' .. given.token))
  if stored then
    return again(given, stored)
  end
  if given.mode == 'dedupe' then
    return deduplicated(given, does, part, id, until_at)
  end
  local open = does.open_one(part, id)
  if given.mode == 'debounce' then
    local waits = open and not given.ends and does.waits(open)
    return waits and does.take_place(open, tonumber(latest)) or does.begin('began')
  end
  open = open or left_open(does, part, id)
  return one_open(given, does, open)
end
