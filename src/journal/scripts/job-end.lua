-- Ends a directive, removes its job, takes the lane's next job under the same lock and claims its directive. One Redis only.
-- Must never remove a job, nor take one, for an end that is not written; nor end or take twice when a lost connection repeats the
-- command.
-- @include include-finish.lua
-- @include include-take.lua
--
-- ARGV[1] directive id   ARGV[2] fence   ARGV[3] succeeded | failed   ARGV[4] retention_ms   ARGV[5] how, as `finish_directive`
--   reads it   ARGV[6] the most bytes of a request
-- ARGV[7] job id   ARGV[8] type and message of the error with which its directive ends ('' = it succeeds)
--   ARGV[9] 1 = take the next one   ARGV[10..] as include-take.lua, then signals, JSON, the terminal one last
-- Returns what `finish_directive` does, then { 'kept' }: the job is as it was | as `end_job`.
local TAKE = 10
local now = now_ms()
local ending = { fence = ARGV[2], status = ARGV[3], retention_ms = ARGV[4], how = ARGV[5], request_bytes = ARGV[6] }
local verdict = finish_directive(ARGV[1], ending, now, TAKE + TAKE_FIELDS, #ARGV)
if verdict[1] ~= 'ended' and verdict[1] ~= 'already' then
  return { verdict, { 'kept' } }
end
-- The end is written: what fails of the rest BullMQ's worker asks for again.
local ran, taken = pcall(end_job, TAKE, ARGV[7], ARGV[8], ARGV[9] == '1', now)
return { verdict, (ran and not taken.err) and taken or { 'kept' } }
