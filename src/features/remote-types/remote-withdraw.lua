-- Withdraws work whose directive has ended without it: what was not begun never begins, and its holder learns it at the next renewal.
-- Must never leave nothing behind: a park that is still on its way would begin the work.
-- @include include-remote-work.lua
--
-- ARGV[1] id   ARGV[2] how long work that is absent stays forbidden, milliseconds
-- Returns { 'state', the state until now, 'begun', how often }; 'absent': there is no such work.
local key = key_of(ARGV[1])
local state = settled(ARGV[1])
if not state then
  forbid(ARGV[1], ARGV[2])
  return { 'state', 'absent', 'begun', 0 }
elseif state == 'waiting' or is_held(state) then
  redis.call('LREM', QUEUE, 1, ARGV[1])
  redis.call('ZREM', HELD, ARGV[1])
  note_served(now_ms())
  redis.call('HSET', key, 'state', 'cancelled')
end
redis.call('HDEL', key, 'body', 'finish')
return { 'state', state, 'begun', redis.call('HGET', key, 'begun') }
