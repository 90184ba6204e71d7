-- Gives the right to make one attempt; see include-claim.lua.
-- Must never grant what `claim_directive` refuses.
-- @include include-claim.lua
--
-- KEYS[4] sweep index, where all keys are in one slot (absent = the caller has written to it)
-- ARGV[1] directive id   ARGV[2] digest the worker holds   ARGV[3] lease_ms   ARGV[4] slack_ms   ARGV[5] token of this claim
-- ARGV[6] signal JSON to append at the first claim ('' = none)   ARGV[7] lane in which the worker took the job ('' = none)
-- Returns as `claim_directive`.
local wish = { digest = ARGV[2], lease_ms = ARGV[3], slack_ms = ARGV[4], token = ARGV[5], lane = ARGV[7], index = KEYS[4] }
return claim_directive(ARGV[1], wish, now_ms(), ARGV[6] ~= '' and 6 or nil)
