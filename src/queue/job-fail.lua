-- Keeps the job of a directive that ended in an error, and that no worker has, as a failed one.
-- Must never take a job from a worker that holds its lock, nor keep one twice.
-- @include include-failed.lua
--
-- ARGV[1] job id   ARGV[2] type and message of the error
-- Returns { 1 } | { 0 }: there is no such job, a worker has it, or it is kept already.
local id = ARGV[1]
local job = BASE .. id
if redis.call('EXISTS', job) == 0 or redis.call('EXISTS', job .. ':lock') == 1 then
  return { 0 }
end
local found = redis.call('ZREM', BASE .. 'delayed', id) + redis.call('ZREM', BASE .. 'prioritized', id)
for _, list in ipairs({ 'wait', 'active', 'paused' }) do
  found = found > 0 and found or redis.call('LREM', BASE .. list, 0, id)
end
if found == 0 then
  return { 0 }
end
keep_failed(id, ARGV[2], now_ms())
return { 1 }
