-- Replaces what a request of a model might take by what it took, in the budgets that it was taken from.
-- Must never settle a reservation twice: tokens that were used would be given back.
--
-- KEYS[1] day of the server   KEYS[2] call, both as in sampling-reserve.lua
-- ARGV[1] reservation   ARGV[2] tokens that it took
-- Returns { 'settled' } | { 'unknown' }: it was settled before, or is forgotten.
local DAY, CALL = KEYS[1], KEYS[2]
local open = 'open|' .. ARGV[1]

local reserved = redis.call('HGET', CALL, open)
if not reserved then
  return { 'unknown' }
end
local day, tokens = string.match(reserved, '^(%d+) (%d+)$')
local above = tonumber(ARGV[2]) - tonumber(tokens)

local function correct(key)
  local sum = math.max(0, tonumber(redis.call('HGET', key, 'tokens') or '0') + above)
  redis.call('HSET', key, 'tokens', string.format('%.0f', sum))
end

redis.call('HDEL', CALL, open)
correct(CALL)
-- What was taken yesterday is part of no budget of today.
if redis.call('HGET', DAY, 'day') == day then
  correct(DAY)
end
return { 'settled' }
