-- Asks for a new list of requests: whoever keeps it builds it.
-- Must never begin again what is being built, unless it is the same question once more, nor replace what a newer version has built.
--
-- KEYS[1] the build, as in list-build-take.lua   ARGV[1] who asks   ARGV[2] format
-- Returns { 'asked' | 'under_way' | 'newer', requests found so far }.
local state, found, asked, format = unpack(redis.call('HMGET', KEYS[1], 'state', 'found', 'asked', 'format'))
if tonumber(format or '0') > tonumber(ARGV[2]) then
  return { 'newer', found or '0' }
end
if state == 'building' and asked ~= ARGV[1] then
  return { 'under_way', found or '0' }
end
if state ~= 'building' then
  redis.call('HSET', KEYS[1], 'format', ARGV[2], 'state', 'building', 'cursor', '', 'topology', '', 'found', 0, 'failed', 0)
  redis.call('HSET', KEYS[1], 'asked', ARGV[1])
  redis.call('HDEL', KEYS[1], 'holder', 'held_until')
  redis.call('PEXPIRE', KEYS[1], 86400000)
end
return { 'asked', '0' }
