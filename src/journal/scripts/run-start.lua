-- Begins a run in a request: from here on it counts as one open thing of the request until it has ended. Where all keys are in one
-- slot it also announces its first turn, and notifies an engine that hears of starts, or enqueues the turn.
-- Must never begin a second run in a request; the same content is the same run.
-- @include include-entrance.lua
--
-- KEYS[4], KEYS[5] as include-entrance.lua says, of the lane of runs
-- ARGV[1] digest of the content   ARGV[2] agent   ARGV[3] spec JSON   ARGV[4] traceparent
-- ARGV[5] the most bytes of a request   ARGV[6] engines that hear of starts, as hearing-engines.ts lists them
-- ARGV[7] when it begins, as include-later.lua says, or -, then start_by_ms, or - ('' = at once); the field `@run|begin` of the state is as
--   that of a directive in include-accept.lua   ARGV[8..] as `announce` reads them
-- Returns { 'started', now } | { 'existing', version, status } | { 'conflict', stored digest }
--   | { 'no_room', bytes that the request holds }.

-- So many engines that are gone are dropped before the turn gets a job.
local MOST_GONE = 3

-- Notifies one engine, with what its first turn reads: `<request> 0 <now> 2 <trace> <agent> <spec, or nothing where it is large>`. Behind
-- what waits in the lane, and where somebody has paused or limited it, the turn has a job. Returns whether an engine heard it.
local function notify_engine(now)
  local meta = lane_meta()
  if meta[1] or meta[2] or meta[3] or redis.call('EXISTS', BASE .. 'wait') == 1 then
    return false
  end
  local spec = (#ARGV[3] <= MAX_PUBLISHED_BYTES) and ARGV[3] or ''
  local start = request_id() .. ' 0 ' .. int(now) .. ' 2 ' .. ARGV[4] .. ' ' .. ARGV[2] .. ' ' .. spec
  for _ = 1, MOST_GONE do
    local channel = redis.call('ZRANDMEMBER', ARGV[6])
    if not channel then
      return false
    elseif redis.call('PUBLISH', channel, start) > 0 then
      return true
    end
    redis.call('ZREM', ARGV[6], channel)
  end
  return false
end

local function begin(now)
  if not notify_engine(now) then
    enqueue_turn(0, now)
  end
end

-- What fails of it the sweeper does later.
local function enqueue(version, now)
  if KEYS[5] and not is_later(ARGV[7]) then
    pcall(enqueue_turn, version, now)
  end
end

local now = now_ms()
local stored = redis.call('HMGET', STATE, '@run|digest', '@run|version', '@run|status')
if stored[1] and stored[1] ~= ARGV[1] then
  return { 'conflict', stored[1] }
end
local request = not stored[1] and redis.call('HMGET', STATE, unpack(OPENING_FIELDS))
local bytes = RECORD_BYTES + #ARGV[3]
if request and not has_room(bytes, request[7], tonumber(request[3] or '0') + 1, ARGV[5]) then
  return { 'no_room', tonumber(request[7] or '0') }
end
if KEYS[4] then
  announce(8, now)
end
if not request then
  -- A run that has begun is woken by what it waits for.
  if stored[3] == 'pending' then
    enqueue(tonumber(stored[2]), now)
  end
  return { 'existing', tonumber(stored[2]), stored[3] }
end
local facts = open_request(request, 1, 0, now, false)
redis.call('HSET', BODIES, '@spec', ARGV[3])
add_fields(facts.fields, 'bytes', int(facts.bytes + bytes), '@run|digest', ARGV[1], '@run|agent', ARGV[2], '@run|trace', ARGV[4],
  '@run|version', '0', '@run|status', 'pending', '@run|created_at', int(now), '@run|changed_at', int(now), RUN_INBOX, '')
if ARGV[7] ~= '' then
  local word, start_by = string.match(ARGV[7], '^(%S+) (%S+)$')
  local at = begins_at(word, now)
  add_fields(facts.fields, '@run|begin', int(at) .. ' ' .. ((start_by ~= '-') and int(at + tonumber(start_by)) or '-'))
end
redis.call('HSET', STATE, unpack(facts.fields))
if KEYS[5] and not is_later(ARGV[7]) then
  pcall(begin, now)
end
return { 'started', int(now) }
