-- Takes back slots that are offered for a lane. One Redis only.
-- Must never touch the offers of another process.
-- @include include-keys.lua
--
-- ARGV: names of offers, as include-offers.lua has them
redis.call('HDEL', BASE .. 'offers', unpack(ARGV))
return {}
