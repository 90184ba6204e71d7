-- Counts what is submitted with an API key in this minute and day, or refuses it.
-- Must never count what it refuses, nor keep a count beyond two days.
--
-- KEYS[1] spent: hash minute, of_minute, day, of_day
-- ARGV[1] how many   ARGV[2] the most in a minute (0 = any)   ARGV[3] the most in a day (0 = any)
-- Returns { 'ok' } | { 'refused', which: minute | day, ms until it is over }. A lost connection may count twice.
local SPENT = KEYS[1]
local KEEP_MS = 2 * 86400 * 1000
local count = tonumber(ARGV[1])
local seconds = tonumber(redis.call('TIME')[1])
local known = redis.call('HMGET', SPENT, 'minute', 'of_minute', 'day', 'of_day')
local minute, day = math.floor(seconds / 60), math.floor(seconds / 86400)
local of_minute = tonumber(known[1]) == minute and tonumber(known[2]) or 0
local of_day = tonumber(known[3]) == day and tonumber(known[4]) or 0

if tonumber(ARGV[3]) > 0 and of_day + count > tonumber(ARGV[3]) then
  return { 'refused', 'day', ((day + 1) * 86400 - seconds) * 1000 }
end
-- @guard spent-minute
if tonumber(ARGV[2]) > 0 and of_minute + count > tonumber(ARGV[2]) then
  return { 'refused', 'minute', ((minute + 1) * 60 - seconds) * 1000 }
end
-- @guard spent-counts
redis.call('HSET', SPENT, 'minute', minute, 'of_minute', of_minute + count, 'day', day, 'of_day', of_day + count)
-- @guard spent-forgotten
redis.call('PEXPIRE', SPENT, KEEP_MS)
return { 'ok' }
