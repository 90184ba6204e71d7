-- Begins a run in a request: from here on it counts as one open thing of the request until it has ended. Where all keys are in one
-- slot it also announces and enqueues its first turn.
-- Must never begin a second run in a request; the same content is the same run.
-- @include include-run.lua
--
-- KEYS[4..6] as include-entrance.lua says, of the lane of runs
-- ARGV[1] digest of the content   ARGV[2] agent   ARGV[3] spec JSON   ARGV[4] traceparent
-- ARGV[5] the most bytes of a request
-- ARGV[6] when it begins, as include-later.lua says, or -, then start_by_ms, or - ('' = at once); the field `@run|begin` of the state is as
--   that of a directive in include-accept.lua   ARGV[7..] as `announce` reads them
-- Returns { 'started', now } | { 'existing', version, status } | { 'conflict', stored digest }
--   | { 'no_room', bytes that the request holds }.

local function enqueue(version, now)
  if KEYS[6] and not is_later(ARGV[6]) then
    after_acceptance(enqueue_turn, version, ARGV[2], now)
  end
end

local now = now_ms()
local stored = redis.call('HMGET', STATE, '@run|digest', '@run|version', '@run|status')
if stored[1] and stored[1] ~= ARGV[1] then
  return { 'conflict', stored[1] }
end
local request, held
if not stored[1] then
  request, held = opening_of_run(ARGV[3], ARGV[5])
  if not request then
    return { 'no_room', held }
  end
end
if KEYS[4] then
  -- @guard announced-run
  announce(7, now)
end
if not request then
  -- A run that has begun is woken by what it waits for.
  if stored[3] == 'pending' then
    enqueue(tonumber(stored[2]), now)
  end
  return { 'existing', tonumber(stored[2]), stored[3] }
end
local run = { digest = ARGV[1], agent = ARGV[2], spec = ARGV[3], trace = ARGV[4] }
if ARGV[6] == '' then
  write_run(request, run, now)
else
  write_run(request, run, now, '@run|begin', (begin_of_run(ARGV[6], now)))
end
enqueue(0, now)
return { 'started', int(now) }
