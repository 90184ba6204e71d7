-- Accepts a batch of directives of one request, all or none; repeats of an accepted directive are recognised by digest.
-- Where all keys are in one slot it also announces and enqueues them.
-- Must never change anything when one directive of the batch conflicts.
-- @include include-entrance.lua
--
-- KEYS[4..6] as include-entrance.lua says
-- ARGV[1] retention_ms (used when immediate directives leave nothing open)
-- ARGV[2] channel on which the ends are announced beside the log ('' = none)
-- ARGV[3] the most bytes of a request
-- ARGV[4..] as `announce` reads them
-- then the directives, as include-accept.lua says
-- Returns { 'conflict', id, stored digest } or { 'no_room', bytes that the request holds } or { 'ok', now_ms, version of the run that has an end to read (-1 = none),
--   then per directive 'accepted' | 'existing' }.
local FIRST = after_announcements(4)

local now = now_ms()
local verdicts, fresh, known = judge_batch(FIRST)
if not verdicts then
  return { 'conflict', fresh, known }
end
local run, handed = -1, nil
local request = fresh > 0 and known
if request and not has_room(bytes_of_batch(FIRST, verdicts), request[7], tonumber(request[3] or '0') + fresh, ARGV[3]) then
  return { 'no_room', tonumber(request[7] or '0') }
end
if KEYS[4] then
  announce(4, now)
end
if request then
  local facts = open_request(request, fresh, fresh, now, ARGV[2] ~= '' and ARGV[2])
  facts.slot_for = offers_for()
  accept_batch(FIRST, verdicts, now, ARGV[1], facts)
  if facts.run ~= request[6] then
    run = tonumber(redis.call('HGET', STATE, '@run|version'))
  end
  handed = facts.handed
end
if KEYS[6] then
  after_acceptance(enqueue_batch, FIRST, verdicts, now, handed)
end
table.insert(verdicts, 1, run)
table.insert(verdicts, 1, int(now))
table.insert(verdicts, 1, 'ok')
return verdicts
