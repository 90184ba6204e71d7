-- Takes out of what a tenant has open what was refused, or was there before.
-- Must never take out what is open, nor what somebody else has submitted since.
--
-- KEYS[1] open, as in tenant-enter.lua   KEYS[2] sweep index
-- ARGV[1] when these were entered, as tenant-enter.lua says   ARGV[2..] members
local OPEN, SWEEP = KEYS[1], KEYS[2]
for index = 2, #ARGV do
  local member = ARGV[index]
  if tonumber(redis.call('ZSCORE', OPEN, member) or '-1') == tonumber(ARGV[1]) and not redis.call('ZSCORE', SWEEP, member) then
    redis.call('ZREM', OPEN, member)
  end
end
return { 'ok' }
