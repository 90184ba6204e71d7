-- Removes a job that was handled, or keeps it as failed, and takes the lane's next one under the same lock.
-- Must never remove a job whose lock went to another worker, nor take a second job when a lost connection repeats the command.
-- @include include-take.lua
--
-- ARGV[1] job id   ARGV[2] type and message of the error with which its directive ended ('' = it did not)
-- ARGV[3] 1 = take the next one   ARGV[4..] as include-take.lua
-- Returns as `end_job`.
return end_job(4, ARGV[1], ARGV[2], ARGV[3] == '1', now_ms())
