-- Removes a job that was handled, and takes the lane's next one under the same lock.
-- Must never remove a job whose lock went to another worker, nor take a second job when a lost connection repeats the command.
-- @include include-take.lua
--
-- ARGV[1] job id   ARGV[2] 1 = take the next one   ARGV[3..] as include-take.lua
-- Returns as `end_job`.
return end_job(3, ARGV[1], ARGV[2] == '1', now_ms())
