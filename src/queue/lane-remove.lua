-- Removes what BullMQ keeps of a lane without jobs; failed jobs that are too old go first.
-- Must never remove anything of a lane that holds a job.
-- @include include-failed.lua
--
-- KEYS[1..6] where jobs are   KEYS[7..] the rest, all in the lane's own slot; the last one its base
-- ARGV[1] the most failed jobs to remove
-- Returns { 'removed' } | { 'busy' }.
expire_failed(now_ms(), tonumber(ARGV[1]))
for index = 1, 6 do
  if redis.call('EXISTS', KEYS[index]) == 1 then
    return { 'busy' }
  end
end
for index = 7, #KEYS - 1 do
  redis.call('DEL', KEYS[index])
end
return { 'removed' }
