-- Ends a directive, ends its job, enqueues the turn of its run, takes the lane's next job and claims its directive. One Redis only.
-- Must never remove a job, nor take one, for an end that is not written; nor end or take twice when a lost connection repeats the
-- command.
-- @include include-finish.lua
-- @include include-take.lua
-- @include include-turn.lua
--
-- KEYS[4] base of the lane of runs
-- ARGV[1] directive id   ARGV[2] fence   ARGV[3] succeeded | failed   ARGV[4] retention_ms   ARGV[5] how, as `finish_directive`
--   reads it   ARGV[6] the most bytes of a request
-- ARGV[7] job id   ARGV[8] its lock   ARGV[9] type and message of the error with which its directive ends ('' = it succeeds)
-- ARGV[10] 1 = take the next one   ARGV[11..] an ask as include-take.lua reads it, then signals, JSON, the terminal one last
-- Returns what `finish_directive` does, with 'woken' 1 where the turn is enqueued, then by name { 'kind', 'kept' }: the job is as it was | as `end_job`.
local ASKED = 11
local now = now_ms()
local ending = { fence = ARGV[2], status = ARGV[3], retention_ms = ARGV[4], how = ARGV[5], request_bytes = ARGV[6] }
local verdict, run = finish_directive(ARGV[1], ending, now, ASKED + #ASK, #ARGV)
-- @guard end-before-job
if verdict[2] ~= 'ended' and verdict[2] ~= 'already' then
  return { verdict, { 'kind', 'kept' } }
end
-- The end is written: what fails of the rest the worker does again.
if run >= 0 and enqueue_turn_in(KEYS[4], run, now) then
  verdict[#verdict + 1] = 'woken'
  verdict[#verdict + 1] = 1
end
local ran, taken = pcall(end_job, ARGV[7], ARGV[8], ARGV[9], ARGV[10] == '1' and ask_at(ASKED) or nil, now)
return { verdict, (ran and not taken.err) and taken or { 'kind', 'kept' } }
