-- Parks the work of an attempt for remote programs; the same id again finds what became of it.
-- @include include-remote-work.lua
--
-- ARGV[1] id   ARGV[2] how long it is kept, milliseconds   ARGV[3] channel   ARGV[4] message   ARGV[5] effect
-- ARGV[6] lease, milliseconds   ARGV[7] body
-- Without ARGV[5] nothing is parked. Work that has ended is kept as long as ARGV[2] from now on.
-- Returns { 'state', state, 'finish', JSON, 'begun', how often }; 'absent': there is no such work.
local id = ARGV[1]
local key = key_of(id)
local state = settled(id)
if not state and not ARGV[5] then
  return { 'state', 'absent' }
elseif not state then
  redis.call('HSET', key, 'state', 'waiting', 'token', '', 'begun', 0, 'effect', ARGV[5], 'lease', ARGV[6], 'body', ARGV[7])
  redis.call('PEXPIRE', key, ARGV[2])
  redis.call('RPUSH', QUEUE, id)
  redis.call('PEXPIRE', QUEUE, ARGV[2], 'NX')
  redis.call('PEXPIRE', QUEUE, ARGV[2], 'GT')
  redis.call('PUBLISH', ARGV[3], ARGV[4])
  return { 'state', 'waiting' }
elseif state == 'ended' then
  redis.call('PEXPIRE', key, ARGV[2])
end
return { 'state', state, 'finish', redis.call('HGET', key, 'finish') or '', 'begun', redis.call('HGET', key, 'begun') }
