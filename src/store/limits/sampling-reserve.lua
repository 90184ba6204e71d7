-- Takes one request of a model out of the budgets of a tool call and of its server's day, or out of none of them.
-- Must never let more pass than the budgets hold: what is not settled, since its worker died, stays taken.
--
-- KEYS[1] day of the server: hash day (since the epoch, UTC), tokens
-- KEYS[2] call: hash requests, tokens, `open|<reservation>` = `<day> <tokens>`
-- ARGV[1] reservation   ARGV[2] most tokens that the request may take
-- ARGV[3] requests of a call   ARGV[4] tokens of a call   ARGV[5] tokens of a day   ARGV[6] call_expiry_ms
-- Returns { 'ok' }, also to a repeat, | { 'refused', which: requests | call | day, ms until the day is over }.
local DAY, CALL = KEYS[1], KEYS[2]
local DAY_SECONDS = 86400
local KEEP_DAY_MS = 2 * DAY_SECONDS * 1000
local open, tokens = 'open|' .. ARGV[1], tonumber(ARGV[2])

local seconds = tonumber(redis.call('TIME')[1])
local today = math.floor(seconds / DAY_SECONDS)

local call = redis.call('HMGET', CALL, 'requests', 'tokens', open)
if call[3] then
  return { 'ok' }
end
local day = redis.call('HMGET', DAY, 'day', 'tokens')
-- A clock that goes back over midnight, as after a change of the primary, begins no second budget of the same day. A day
-- further ahead is a fault of the clock, by which nobody is refused for longer than until tomorrow ends.
local counted = tonumber(day[1]) == today + 1 and today + 1 or today
local left_ms = ((counted + 1) * DAY_SECONDS - seconds) * 1000
local of_day = tonumber(day[1]) == counted and tonumber(day[2]) or 0
counted = string.format('%.0f', counted)
local requests, of_call = tonumber(call[1] or '0'), tonumber(call[2] or '0')

if requests >= tonumber(ARGV[3]) then
  return { 'refused', 'requests', left_ms }
elseif of_call + tokens > tonumber(ARGV[4]) then
  return { 'refused', 'call', left_ms }
elseif of_day + tokens > tonumber(ARGV[5]) then
  return { 'refused', 'day', left_ms }
end
redis.call('HSET', DAY, 'day', counted, 'tokens', string.format('%.0f', of_day + tokens))
redis.call('PEXPIRE', DAY, KEEP_DAY_MS)
redis.call('HSET', CALL, 'requests', requests + 1, 'tokens', string.format('%.0f', of_call + tokens))
redis.call('HSET', CALL, open, counted .. ' ' .. string.format('%.0f', tokens))
redis.call('PEXPIRE', CALL, ARGV[6])
return { 'ok' }
