-- Adds a job to its lane, behind those that wait. While the job is there, adding it again changes nothing.
-- Must never wake a worker of a lane that is paused, or that has as many jobs under way as it may.
-- @include include-job.lua
--
-- ARGV[1] job id   ARGV[2] name   ARGV[3] data, JSON   ARGV[4] options, JSON   ARGV[5] timestamp, milliseconds since the epoch
-- Returns { 'added' } | { 'existing' }.
local id = ARGV[1]
if redis.call('EXISTS', BASE .. id) == 1 then
  return { 'existing' }
end
redis.call('HSET', BASE .. id, 'name', ARGV[2], 'data', ARGV[3], 'opts', ARGV[4], 'timestamp', ARGV[5], 'delay', 0, 'priority', 0)
redis.call('LPUSH', BASE .. 'wait', id)
local meta = redis.call('HMGET', BASE .. 'meta', 'paused', 'concurrency')
if not meta[1] and (not meta[2] or redis.call('LLEN', BASE .. 'active') < tonumber(meta[2])) then
  mark()
end
return { 'added' }
