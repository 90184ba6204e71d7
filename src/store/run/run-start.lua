-- Begins a run in a request: from here on it counts as one open thing of the request until it has ended. A run that is submitted under a key
-- begins, or another one represents it. Where all keys are in one slot it also announces and enqueues its first turn.
-- Must never begin a second run in a request; the same content is the same run.
-- @include include-under-key.lua
--
-- KEYS[4..6] as include-entrance.lua says, of the lane of runs
-- ARGV[1] digest of the content   ARGV[2] agent   ARGV[3] spec JSON   ARGV[4] traceparent
-- ARGV[5] the most bytes of a request
-- ARGV[6] when it begins, as include-later.lua says, or -, then start_by_ms, or - ('' = at once); the field `@run|begin` of the state is as
--   that of a directive in include-accept.lua
-- ARGV[7] the key, JSON as include-under-key.lua reads it ('' = none)   ARGV[8..] as `announce` reads them
-- Returns { 'started', now } | { 'existing', version, status } | { 'conflict', stored digest }
--   | { 'no_room', bytes that the request holds }; under a key what `submit_under_key` returns.
-- Fields of the state under a key: `@run|until`, when it ends at most; `@run|behind`, as once-release.lua says; `@run|replaced`, another one
-- began in its place, and it is to be cancelled.
local ANNOUNCED = 8
local now = now_ms()

local function enqueue(version)
  if KEYS[6] and not is_later(ARGV[6]) then
    after_acceptance(enqueue_turn, version, ARGV[2], now)
  end
end

-- Begins the run unless there is one. Returns why it has no room. `fields`: further names and values of the state.
local function begin(stored, is_held, fields)
  local request = not stored[1] and redis.call('HMGET', STATE, unpack(OPENING_FIELDS))
  if request and not has_room(RECORD_BYTES + #ARGV[3], request[7], tonumber(request[3] or '0') + 1, ARGV[5]) then
    return { 'no_room', tonumber(request[7] or '0') }
  end
  if KEYS[4] then
    -- @guard announced-run
    announce(ANNOUNCED, now)
  end
  if request then
    local facts = open_request(request, 1, 0, now, false)
    redis.call('HSET', BODIES, '@spec', ARGV[3])
    add_fields(facts.fields, 'bytes', int(facts.bytes + RECORD_BYTES + #ARGV[3]), '@run|digest', ARGV[1], '@run|agent', ARGV[2],
      '@run|trace', ARGV[4], '@run|version', '0', '@run|status', 'pending', '@run|created_at', int(now), '@run|changed_at', int(now),
      RUN_INBOX, '', unpack(fields))
    redis.call('HSET', STATE, unpack(facts.fields))
  end
  -- A run that has begun is woken by what it waits for.
  if not is_held and (request or stored[3] == 'pending') then
    enqueue(tonumber(stored[2] or '0'))
  end
end

local word, start_by = string.match(ARGV[6], '^(%S+) (%S+)$')
local at, fields = begins_at(word or '-', now), {}
if word then
  fields = { '@run|begin', int(at) .. ' ' .. ((start_by ~= '-') and int(at + tonumber(start_by)) or '-') }
end
if ARGV[7] ~= '' then
  local own = { id = RUN, digest = ARGV[1], lane = 'run', body = ARGV[3], most_bytes = ARGV[5], announced = ANNOUNCED, at = at,
    start_by = start_by or '-', lasts_ms = cjson.decode(ARGV[7]).lasts_ms }
  function own.fields()
    return { '@run|digest', own.digest, '@run|agent', ARGV[2], '@run|trace', ARGV[4], '@run|changed_at', int(now) }
  end
  function own.write(behind, held_until, ends_at)
    local held = behind and { '@run|behind', behind, '@run|begin', int(held_until) .. ' -' } or fields
    add_fields(held, '@run|until', int(ends_at))
    return begin({}, behind, held)
  end
  return submit_under_key(ARGV[7], own, now)
end

local stored = redis.call('HMGET', STATE, '@run|digest', '@run|version', '@run|status')
if stored[1] and stored[1] ~= ARGV[1] then
  return { 'conflict', stored[1] }
end
local refused = begin(stored, false, fields)
if refused then
  return refused
elseif stored[1] then
  return { 'existing', tonumber(stored[2]), stored[3] }
end
return { 'started', int(now) }
