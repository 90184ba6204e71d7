-- Adds jobs to their lane, behind those that wait, in their order. While a job is there, adding it again changes nothing.
-- Must never wake a worker of a lane that is paused, or that has as many jobs under way as it may.
-- @include include-lane.lua
--
-- ARGV of each job: id, name, data as JSON, options as JSON, timestamp in milliseconds since the epoch
-- Returns { how many were added }.
local added = 0
for at = 1, #ARGV, 5 do
  if add_job(ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]) then
    added = added + 1
  end
end
if added > 0 then
  wake_worker()
end
return { added }
