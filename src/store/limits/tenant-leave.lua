-- Takes out of what a tenant has open what was refused, or was there before.
-- Must never take out what is open, nor what somebody else has submitted since.
-- @include include-later.lua
--
-- KEYS[1] open, as in tenant-enter.lua   KEYS[2] sweep index
-- ARGV[1] when these were entered, as tenant-enter.lua says   ARGV[2..] members, as in tenant-enter.lua
local OPEN, SWEEP = KEYS[1], KEYS[2]
for index = 2, #ARGV do
  local member, word = string.match(ARGV[index], '^(%S+) ?(.*)$')
  local entered = begins_at(word, tonumber(ARGV[1]))
  -- @guard tenant-left
  if tonumber(redis.call('ZSCORE', OPEN, member) or '-1') == entered and not redis.call('ZSCORE', SWEEP, member) then
    redis.call('ZREM', OPEN, member)
  end
end
return { 'ok' }
