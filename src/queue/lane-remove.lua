-- Removes what BullMQ keeps of a lane without jobs.
-- Must never remove anything of a lane that holds a job.
--
-- KEYS[1..5] where jobs are   KEYS[6..] the rest, all in the lane's own slot
-- Returns { 'removed' } | { 'busy' }.
for index = 1, 5 do
  if redis.call('EXISTS', KEYS[index]) == 1 then
    return { 'busy' }
  end
end
for index = 6, #KEYS do
  redis.call('DEL', KEYS[index])
end
return { 'removed' }
