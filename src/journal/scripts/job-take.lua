-- Takes the next job of a lane.
-- Must never take one that BullMQ's own script would not.
-- @include include-job.lua
--
-- ARGV[1] token of the lock   ARGV[2] lock_ms   ARGV[3] now, the worker's clock
-- Returns as take_job of include-job.lua.
return take_job(ARGV[1], ARGV[2], ARGV[3])
