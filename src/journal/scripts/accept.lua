-- Accepts a batch of directives of one request, all or none; repeats of an accepted directive are recognised by digest.
-- Must never change anything when one directive of the batch conflicts.
-- @include include-accept.lua
--
-- ARGV[1] retention_ms (used when immediate directives leave nothing open)
-- ARGV[2] channel on which the ends are announced beside the log ('' = none)
-- ARGV[3] the most bytes of a request
-- ARGV[4..] the directives, as include-accept.lua says
-- Returns { 'conflict', id, stored digest } or { 'no_room', bytes that the request holds } or { 'ok', now_ms, version of the run that has an end to read (-1 = none),
--   then per directive 'accepted' | 'existing' }.
local FIRST = 4
local now = now_ms()
local verdicts, fresh, stored = judge_batch(FIRST)
if not verdicts then
  return { 'conflict', fresh, stored }
end
local run = -1
if fresh > 0 then
  local request = redis.call('HMGET', STATE, unpack(OPENING_FIELDS))
  if not has_room(bytes_of_batch(FIRST, verdicts), request[7], tonumber(request[3] or '0') + fresh, ARGV[3]) then
    return { 'no_room', tonumber(request[7] or '0') }
  end
  local facts = open_request(request, fresh, fresh, now, ARGV[2] ~= '' and ARGV[2])
  accept_batch(FIRST, verdicts, now, ARGV[1], facts)
  if facts.run ~= request[6] then
    run = tonumber(redis.call('HGET', STATE, '@run|version'))
  end
end
table.insert(verdicts, 1, run)
table.insert(verdicts, 1, int(now))
table.insert(verdicts, 1, 'ok')
return verdicts
