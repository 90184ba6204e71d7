-- Announces what begins later, where it is not announced together with its acceptance.
-- Must never put off what was announced for earlier.
-- @include include-later.lua
--
-- KEYS[1] sweep index   ARGV: of each, when it begins as include-later.lua says, then `<request>/<directive>|<lane>`
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
for at = 1, #ARGV, 2 do
  add_later(KEYS[1], ARGV[at + 1], begins_at(ARGV[at], now))
end
return { 'ok' }
