-- Withdraws work whose directive has ended without it: what was not begun never begins, and its holder learns it at the next renewal.
-- @include include-remote-work.lua
--
-- ARGV[1] id   ARGV[2] how long its holder can still learn it, milliseconds
-- Returns { 'state', the state until now }; 'absent': there is no such work.
local key = key_of(ARGV[1])
local state = settled(ARGV[1])
if not state then
  return { 'state', 'absent' }
elseif state == 'waiting' then
  redis.call('LREM', QUEUE, 1, ARGV[1])
  redis.call('DEL', key)
elseif is_held(state) then
  redis.call('HSET', key, 'state', 'cancelled')
  redis.call('HDEL', key, 'body')
  redis.call('PEXPIRE', key, ARGV[2])
end
return { 'state', state }
