-- Gives a claim the only place in a serial lane.
-- Must never give it to a second claim while the first one may live: a lease that is over may be that of a holder whose
-- Redis stood still, so it is given a while to extend it.
--
-- KEYS[1] place: hash holder, suspected_at (since when its lease is over), seen_at (when that was last found)
-- ARGV[1] the claim that asks, `<request>/<directive>/<fence>`
-- ARGV[2] holder that was looked up in the journal ('' = none was)
-- ARGV[3] what was found of it: alive | silent (its lease is over) | over (it has ended, or gone on under another fence)
-- ARGV[4] grace_ms of a silent one   ARGV[5] expiry_ms: longer than any attempt
-- Returns { 'entered' } | { 'held', holder }.
local PLACE = KEYS[1]
local place = redis.call('HMGET', PLACE, 'holder', 'suspected_at', 'seen_at')
local holder = place[1]

local function enter()
  redis.call('DEL', PLACE)
  redis.call('HSET', PLACE, 'holder', ARGV[1])
  redis.call('PEXPIRE', PLACE, ARGV[5])
  return { 'entered' }
end

if not holder or holder == ARGV[1] then
  return enter()
elseif holder ~= ARGV[2] then
  return { 'held', holder }
elseif ARGV[3] == 'over' then
  return enter()
elseif ARGV[3] == 'alive' then
  redis.call('HDEL', PLACE, 'suspected_at', 'seen_at')
  return { 'held', holder }
end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local grace = tonumber(ARGV[4])
local suspected_at, seen_at = tonumber(place[2] or '0'), tonumber(place[3] or '0')
if now - seen_at > grace then
  -- Nobody has asked for a while: it may have lived in between.
  suspected_at = now
elseif now - suspected_at >= grace then
  return enter()
end
redis.call('HSET', PLACE, 'suspected_at', string.format('%.0f', suspected_at), 'seen_at', string.format('%.0f', now))
return { 'held', holder }
