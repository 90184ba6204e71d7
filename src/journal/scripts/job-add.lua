-- Adds a job to its lane, behind those that wait. While the job is there, adding it again changes nothing.
-- Must never wake a worker of a lane that is paused, or that has as many jobs under way as it may.
-- @include include-lane.lua
--
-- ARGV[1] job id   ARGV[2] name   ARGV[3] data, JSON   ARGV[4] options, JSON   ARGV[5] timestamp, milliseconds since the epoch
-- Returns { 'added' } | { 'existing' }.
if not add_job(ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]) then
  return { 'existing' }
end
wake_worker()
return { 'added' }
