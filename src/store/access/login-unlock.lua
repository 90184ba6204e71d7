-- Gives the lock of a login back.
-- Must never take it from another holder, which has it by now when a lost connection repeats the command.
--
-- KEYS[1] lock   ARGV[1] the holder that leaves
-- Returns { 'left' } | { 'stale' }.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return { 'stale' }
end
redis.call('DEL', KEYS[1])
return { 'left' }
