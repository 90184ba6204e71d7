-- Removes a job that was handled, and takes the lane's next one under the same lock.
-- Must never remove a job whose lock went to another worker, nor take a second job when a lost connection repeats the command.
-- @include include-job.lua
--
-- ARGV[1] token of the lock   ARGV[2] lock_ms   ARGV[3] now, the worker's clock   ARGV[4] job id   ARGV[5] 1 = take the next one
-- Returns { 'done' } | { 'lost' }: nothing is changed, BullMQ's script says why | as take_job of include-job.lua.
local token, id = ARGV[1], ARGV[4]
local job = BASE .. id
if redis.call('GET', job .. ':lock') == token then
  -- As BullMQ: a tool that adds a line to a job's log makes a key beside it.
  redis.call('DEL', job, job .. ':lock', job .. ':logs', job .. ':dependencies', job .. ':processed', job .. ':failed',
    job .. ':unsuccessful')
  redis.call('LREM', BASE .. 'active', -1, id)
  redis.call('SREM', BASE .. 'stalled', id)
elseif redis.call('EXISTS', job) == 1 then
  return { 'lost' }
else
  local held = (ARGV[5] == '1') and held_job(token)
  if held then
    return held
  end
end
if ARGV[5] ~= '1' then
  return { 'done' }
end
return take_job(token, ARGV[2], ARGV[3])
