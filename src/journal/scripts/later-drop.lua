-- Takes out what has ended before it began; the sweeper looks at it once more.
-- Must never leave it without a look: its job may be on its way; nor let it be moved here afterwards.
-- @include include-later.lua
-- @include include-sweep.lua
--
-- KEYS[1] sweep index   ARGV[1] `<request>/<directive>`   ARGV[2] lane   ARGV[3] milliseconds from now until that look
-- Returns { 'dropped' } | { 'unknown' }: it had begun, or is not here yet.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local look_at = string.format('%.0f', now + tonumber(ARGV[3]))
if not drop_later(KEYS[1], ARGV[1] .. '|' .. ARGV[2]) then
  -- With another score later-add.lua and later-park.lua leave it alone.
  redis.call('ZADD', KEYS[1], 'XX', look_at, ARGV[1])
  return { 'unknown' }
end
look_by(KEYS[1], ARGV[1], look_at)
return { 'dropped' }
