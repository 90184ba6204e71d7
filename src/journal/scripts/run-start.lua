-- Begins a run in a request: from here on it counts as one open thing of the request until it has ended.
-- Must never begin a second run in a request; the same content is the same run.
-- @include include-accept.lua
--
-- ARGV[1] digest of the content   ARGV[2] agent   ARGV[3] spec JSON   ARGV[4] traceparent
-- ARGV[5] the most bytes of a request
-- Returns { 'started', now } | { 'existing', version, status } | { 'conflict', stored digest }
--   | { 'no_room', bytes that the request holds }.
local stored = redis.call('HMGET', STATE, '@run|digest', '@run|version', '@run|status')
if stored[1] == ARGV[1] then
  return { 'existing', tonumber(stored[2]), stored[3] }
elseif stored[1] then
  return { 'conflict', stored[1] }
end
local now = now_ms()
local request = redis.call('HMGET', STATE, unpack(OPENING_FIELDS))
local bytes = RECORD_BYTES + #ARGV[3]
if not has_room(bytes, request[7], tonumber(request[3] or '0') + 1, ARGV[5]) then
  return { 'no_room', tonumber(request[7] or '0') }
end
open_request(request, 1, 0, now, false)
grow(bytes)
redis.call('HSET', BODIES, '@spec', ARGV[3])
redis.call('HSET', STATE, '@run|digest', ARGV[1], '@run|agent', ARGV[2], '@run|trace', ARGV[4], '@run|version', '0',
  '@run|status', 'pending', '@run|created_at', int(now), '@run|changed_at', int(now), RUN_INBOX, '')
return { 'started', int(now) }
