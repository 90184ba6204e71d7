-- Corrects the buckets of tokens after a call by what it took above (or below) its estimate.
-- Must never correct twice for one reservation: a refund that is repeated would let too much pass.
-- @include include-limits.lua
--
-- KEYS[1] hash of buckets   KEYS[2] mark of this reservation
-- ARGV in threes, a bucket each: name, limit per minute, tokens taken above the estimate (negative = below)
-- Returns { 'recorded' } | { 'already' }.
local MARK_MS = 600000

if not redis.call('SET', KEYS[2], '1', 'NX', 'PX', MARK_MS) then
  return { 'already' }
end
local now = now_us()
for index = 1, #ARGV, 3 do
  local name, per_minute = ARGV[index], tonumber(ARGV[index + 1])
  local level = level_of(redis.call('HGET', BUCKETS, name) or nil, per_minute, now)
  store(name, math.min(capacity(per_minute), level - tonumber(ARGV[index + 2])), per_minute, now)
end
return { 'recorded' }
