-- Counts what a tenant submits among what it has open, or refuses it.
-- Must never refuse while what it counts includes something that nobody looks at any more: a process that died between this
-- script and the acceptance leaves such entries.
-- @include include-later.lua
--
-- KEYS[1] open: sorted set of `<request>/<directive>` -> when it was submitted, or last found open, milliseconds since the epoch
-- KEYS[2] sweep index
-- ARGV[1] the most that may be open   ARGV[2..] members, one that begins later with a space and when, as include-later.lua says
-- Returns { 'ok', now, members that this call has added... } | { 'full' }. A repeat counts nothing twice, and keeps tenant-leave.lua from
-- taking out what two have submitted.
local OPEN, SWEEP, MOST = KEYS[1], KEYS[2], tonumber(ARGV[1])
-- Longer than anything begins later, and any deadline.
local KEEP_MS = 366 * 86400 * 1000 + 2147483647
-- What is accepted is in the sweep index by then, and Redis looks at so many in about a millisecond.
local GRACE_MS, LOOKED_AT = 10000, 1000
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

-- What begins later is found open until it does.
local new, repeated, from = {}, {}, {}
for index = 2, #ARGV do
  local member, word = string.match(ARGV[index], '^(%S+) ?(.*)$')
  -- @guard tenant-repeat
  local score = redis.call('ZSCORE', OPEN, member)
  if not score then
    new[#new + 1] = member
    from[member] = begins_at(word, now)
  else
    repeated[member] = math.max(now, tonumber(score) + 1)
  end
end

local function fits()
  return redis.call('ZCARD', OPEN) + #new <= MOST
end

-- Those that were looked at longest ago; what is open goes to the end of the line.
local function drop_ended()
  local old = redis.call('ZRANGEBYSCORE', OPEN, '-inf', now - GRACE_MS, 'LIMIT', 0, LOOKED_AT)
  for _, member in ipairs(old) do
    -- @guard tenant-open
    if redis.call('ZSCORE', SWEEP, member) then
      redis.call('ZADD', OPEN, string.format('%.0f', now), member)
    else
      -- @guard tenant-gone
      redis.call('ZREM', OPEN, member)
    end
  end
end

if #new > 0 and not fits() then
  drop_ended()
  if not fits() then
    return { 'full' }
  end
end
for _, member in ipairs(new) do
  redis.call('ZADD', OPEN, string.format('%.0f', from[member]), member)
end
for member, score in pairs(repeated) do
  redis.call('ZADD', OPEN, string.format('%.0f', score), member)
end
redis.call('PEXPIRE', OPEN, string.format('%.0f', KEEP_MS))
return { 'ok', string.format('%.0f', now), unpack(new) }
