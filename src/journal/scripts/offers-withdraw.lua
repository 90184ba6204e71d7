-- Takes back slots that are offered for a lane. One Redis only.
-- Must never say that one is free which was used.
-- @include include-keys.lua
--
-- ARGV: names of offers, as include-offers.lua has them
-- Returns the names of those that stood.
local free = {}
for _, name in ipairs(ARGV) do
  if redis.call('HDEL', BASE .. 'offers', name) == 1 then
    free[#free + 1] = name
  end
end
return free
