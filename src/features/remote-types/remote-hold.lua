-- Begins taken work, or renews its lease.
-- Must never begin work that was withdrawn, or that another taker has.
-- @include include-remote-work.lua
--
-- ARGV[1] id   ARGV[2] token
-- Returns { 'held' } | { 'cancelled' } | { 'lost' }.
local key = key_of(ARGV[1])
local state, token = settled(ARGV[1])
if not state or token ~= ARGV[2] then
  return { 'lost' }
elseif state == 'cancelled' then
  return { 'cancelled' }
elseif not is_held(state) then
  return { 'lost' }
elseif state == 'taken' then
  redis.call('HINCRBY', key, 'begun', 1)
end
local lease = tonumber(redis.call('HGET', key, 'lease'))
local now = now_ms()
local until_at = int(now + lease)
redis.call('HSET', key, 'state', 'running', 'until', until_at)
redis.call('ZADD', HELD, until_at, ARGV[1])
note_served(now)
return { 'held' }
