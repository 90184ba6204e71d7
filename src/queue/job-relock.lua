-- Gives a job that a worker has taken, and has not begun, another lock of the same worker.
-- Must never take the job from another worker.
-- @include include-keys.lua
--
-- ARGV[1] job id   ARGV[2] its lock from now on   ARGV[3] lock_ms   ARGV[4..] what its lock may be
-- Returns { 1 } | { 0 }: somebody else has it, or may take it.
local lock = BASE .. ARGV[1] .. ':lock'
local holder = redis.call('GET', lock)
local ours = holder == ARGV[2]
for at = 4, #ARGV do
  ours = ours or holder == ARGV[at]
end
-- @guard several-relock
if not ours then
  return { 0 }
end
redis.call('SET', lock, ARGV[2], 'PX', ARGV[3])
return { 1 }
