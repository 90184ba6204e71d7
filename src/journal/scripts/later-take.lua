-- Moves what begins now from the index of what begins later to the sweep index, and gives it to one sweeper.
-- Must never take more than a few at once, however many begin at the same instant; nor leave any without a look, should that sweeper die.
-- @include include-later.lua
-- @include include-sweep.lua
--
-- KEYS[1] sweep index   ARGV[1] the most that are taken   ARGV[2] hold_ms: how long nobody else looks at them
-- Returns { now, milliseconds until the next one begins (-1 = there is none), { member, its score in the sweep index }... }; the numbers as
--   text.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local index = later_keys(KEYS[1])
-- As index-take.lua marks what a sweeper has taken.
local held = string.format('%.3f', now + tonumber(ARGV[2]) + 0.125)
local taken = {}
for _, entry in ipairs(redis.call('ZRANGEBYSCORE', index, '-inf', now, 'LIMIT', 0, tonumber(ARGV[1]))) do
  local member = string.match(entry, '^[^|]*')
  drop_later(KEYS[1], entry)
  look_by(KEYS[1], member, held)
  taken[#taken + 1] = member
  taken[#taken + 1] = string.format('%.3f', tonumber(redis.call('ZSCORE', KEYS[1], member)))
end
local first = redis.call('ZRANGE', index, 0, 0, 'WITHSCORES')[2]
local next_ms = first and math.max(0, tonumber(first) - now) or -1
return { string.format('%.0f', now), string.format('%.0f', next_ms), unpack(taken) }
