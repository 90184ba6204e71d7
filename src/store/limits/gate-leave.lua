-- A directive that ran leaves: for good, or back to its line until it is due again.
-- Must never give back what another has meanwhile.
-- @include include-gate.lua
--
-- KEYS[1] gate   ARGV[1] member   ARGV[2] token ('' = it was let out, and has not begun)   ARGV[3] in how many milliseconds it is due again ('' = it is over)
-- ARGV[4] how many may be out
-- Returns { left | stale, then as `with_released` }.
arrive()
local item = item_of(ARGV[1])
-- @guard flow-leave-token
if not item or item.owner ~= ARGV[2] or not redis.call('ZSCORE', key('out'), item.member) then
  return with_released({ 'stale' })
end
if ARGV[3] ~= '' then
  back_in_line(item, NOW + tonumber(ARGV[3]))
else
  -- @guard limit-woken +1
  give_back(item)
  wake_all(item.limits)
  forget(item)
end
release(tonumber(ARGV[4]))
return with_released({ 'left' })
