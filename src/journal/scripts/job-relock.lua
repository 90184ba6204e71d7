-- Gives a job that a worker has taken, and has not begun, another lock of the same worker.
-- Must never take the job from another worker.
-- @include include-keys.lua
--
-- ARGV[1] job id   ARGV[2] its lock   ARGV[3] the new one   ARGV[4] lock_ms
-- Returns { 1 } | { 0 }: somebody else has it, or may take it.
local lock = BASE .. ARGV[1] .. ':lock'
local holder = redis.call('GET', lock)
if holder ~= ARGV[2] and holder ~= ARGV[3] then
  return { 0 }
end
redis.call('SET', lock, ARGV[3], 'PX', ARGV[4])
return { 1 }
