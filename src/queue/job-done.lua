-- Removes a job that was handled, keeps it as failed, or enqueues it again where its run was woken meanwhile.
-- Must never remove a job whose lock went to another worker.
-- @include include-failed.lua
--
-- ARGV[1] job id   ARGV[2] its lock   ARGV[3] type and message of the error with which its directive ended ('' = it did not)
-- Returns { 1 } | { 0 }: another worker has it, or it is gone.
local id, job = ARGV[1], BASE .. ARGV[1]
if redis.call('GET', job .. ':lock') ~= ARGV[2] then
  return { 0 }
end
redis.call('LREM', BASE .. 'active', -1, id)
redis.call('SREM', BASE .. 'stalled', id)
if redis.call('HDEL', job, 'again') == 1 then
  redis.call('DEL', job .. ':lock')
  redis.call('HDEL', job, 'processedOn')
  redis.call('RPUSH', BASE .. 'wait', id)
  wake_worker()
elseif ARGV[3] == '' then
  delete_job(job)
else
  keep_failed(id, ARGV[3], now_ms())
end
return { 1 }
