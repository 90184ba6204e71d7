-- Forgets the task of a directive that has ended without it: its server knows that no caller waits for it.
-- Must never forget another task, nor one that an attempt may still ask for.
-- @include include-record.lua
--
-- ARGV[1] directive id   ARGV[2] the task, as task-keep.lua wrote it
-- Returns { 'dropped' } | { 'stale' }.
local id = ARGV[1]
local record = redis.call('HMGET', STATE, id .. '|status', id .. '|task')
if not is_terminal(record[1] or '') or record[2] ~= ARGV[2] then
  return { 'stale' }
end
redis.call('HDEL', STATE, id .. '|task')
grow(-#ARGV[2])
return { 'dropped' }
