-- Drops the rows whose requests have expired, and the oldest above the most that are kept.
-- Must never take long: what is left is dropped by the next call.
-- @include include-search.lua
--
-- ARGV[1] prefix of the facets   ARGV[2] the most that are dropped   ARGV[3] the most rows that are kept
-- Returns { how many were dropped, how many there are }.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local MOST = tonumber(ARGV[2])
local gone = redis.call('ZRANGEBYSCORE', EXPIRY, '-inf', now, 'LIMIT', 0, MOST)
local above = redis.call('ZCARD', ALL) - #gone - tonumber(ARGV[3])
if above > 0 and #gone < MOST then
  for _, id in ipairs(redis.call('ZRANGE', ALL, 0, math.min(above, MOST - #gone) - 1)) do
    gone[#gone + 1] = id
  end
end
for _, id in ipairs(gone) do
  drop_row(ARGV[1], id)
end
return { #gone, redis.call('ZCARD', ALL) }
