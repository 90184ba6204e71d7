-- Ends a run's part in its conversation: its messages become the history, and the next run has its turn.
-- Must never take the turn from a run that still has it.
--
-- KEYS as in conversation-enter.lua
-- ARGV[1] request   ARGV[2] messages JSON ('' = the history stays as it is)   ARGV[3] retention_ms of what is left
-- ARGV[4] how long the keys stay while a run goes on, as in conversation-enter.lua
-- Returns { request of the active run ('' = none) }.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  redis.call('LREM', KEYS[2], 0, ARGV[1])
  return { redis.call('GET', KEYS[1]) or '' }
end
if ARGV[2] ~= '' then
  redis.call('SET', KEYS[3], ARGV[2], 'PX', ARGV[4])
end
local following = redis.call('LPOP', KEYS[2])
if following then
  redis.call('SET', KEYS[1], following, 'PX', ARGV[4])
  redis.call('PEXPIRE', KEYS[2], ARGV[4])
  return { following }
end
redis.call('DEL', KEYS[1])
redis.call('PEXPIRE', KEYS[3], ARGV[3])
return { '' }
