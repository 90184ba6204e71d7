-- Drops the rows whose requests have expired, and the oldest above the most that are kept. The row of an archived request stays for longer,
-- and holds no bytes of its tenant.
-- Must never take long: what is left is dropped by the next call.
-- @include include-search.lua
--
-- ARGV[1] prefix of the facets   ARGV[2] the most that are dropped   ARGV[3] the most rows that are kept
-- Returns { how many were due, how many there are }.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local MOST = tonumber(ARGV[2])
local due = redis.call('ZRANGEBYSCORE', EXPIRY, '-inf', now, 'LIMIT', 0, MOST)

-- nil = it goes with its request.
local function listed_until(id)
  local ends = tonumber(string.match(redis.call('HGET', ROWS, id) or '', '\2.*"listed_until":(%d+)'))
  return ends and ends > now and ends
end

local gone = {}
for _, id in ipairs(due) do
  local ends = listed_until(id)
  if ends then
    drop_bytes(id)
    redis.call('ZADD', EXPIRY, string.format('%d', ends), id)
  else
    gone[#gone + 1] = id
  end
end
local above = redis.call('ZCARD', ALL) - #gone - tonumber(ARGV[3])
if above > 0 and #gone < MOST then
  for _, id in ipairs(redis.call('ZRANGE', ALL, 0, math.min(above, MOST - #gone) - 1)) do
    gone[#gone + 1] = id
  end
end
for _, id in ipairs(gone) do
  drop_row(ARGV[1], id)
end
return { math.max(#due, #gone), redis.call('ZCARD', ALL) }
