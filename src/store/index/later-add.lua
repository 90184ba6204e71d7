-- Moves what was announced in the sweep index, and is accepted now, to the index of what begins later.
-- Must never bring back what has ended meanwhile, nor move what a sweeper has taken: its score is another then, and the sweeper decides.
-- @include include-later.lua
--
-- KEYS[1] sweep index   ARGV[1] their score since they were announced
-- then of each: when it begins as include-later.lua says, and `<request>/<directive>|<lane>`
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
for at = 2, #ARGV, 2 do
  local member = string.match(ARGV[at + 1], '^[^|]*')
  local score = redis.call('ZSCORE', KEYS[1], member)
  if score and tonumber(score) == tonumber(ARGV[1]) then
    add_later(KEYS[1], ARGV[at + 1], begins_at(ARGV[at], now))
    redis.call('ZREM', KEYS[1], member)
  end
end
return { 'ok' }
