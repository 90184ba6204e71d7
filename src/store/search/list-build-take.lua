-- Takes the building of the list of requests for one process, for a time, or says that there is nothing to build.
-- Must never replace what a newer version of the service has built, nor take a build from a holder that works.
--
-- KEYS[1] the build (hash): format, state ('building', 'complete'), cursor ('' = the old list is still to be removed), topology, found,
--   failed, asked, holder, held_until
-- ARGV[1] holder   ARGV[2] hold_ms   ARGV[3] format
-- The key goes a day after the last look at it by a process of its format or a newer one: then the list is built anew, where there is
-- something to list.
-- Returns { 'complete' | 'newer' | 'held' } or { 'taken', cursor, topology, found, failed }.
local KEEP_MS = 86400000
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local format, state, holder, held_until = unpack(redis.call('HMGET', KEYS[1], 'format', 'state', 'holder', 'held_until'))
local known, wanted = tonumber(format or '0'), tonumber(ARGV[3])
if known > wanted then
  return { 'newer' }
end
if format and redis.call('PTTL', KEYS[1]) < KEEP_MS / 2 then
  redis.call('PEXPIRE', KEYS[1], KEEP_MS)
end
if known == wanted and state == 'complete' then
  return { 'complete' }
end
if holder and holder ~= ARGV[1] and tonumber(held_until) > now then
  return { 'held' }
end
if known ~= wanted or state ~= 'building' then
  redis.call('HSET', KEYS[1], 'format', wanted, 'state', 'building', 'cursor', '', 'topology', '', 'found', 0, 'failed', 0)
end
redis.call('PEXPIRE', KEYS[1], KEEP_MS)
local held = string.format('%.0f', now + tonumber(ARGV[2]))
redis.call('HSET', KEYS[1], 'holder', ARGV[1], 'held_until', held)
local cursor, topology, found, failed = unpack(redis.call('HMGET', KEYS[1], 'cursor', 'topology', 'found', 'failed'))
return { 'taken', cursor, topology, found, failed }
