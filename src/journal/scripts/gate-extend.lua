-- Extends the lease of directives that run.
-- Must never bring back what has gone back to its line: another may have it. A lease that is over, and that nobody has taken, goes on.
-- @include include-gate.lua
--
-- KEYS[1] gate   ARGV[1] token   ARGV[2] lease_ms   ARGV[3...] members
-- Returns { member... }: those that are not its own any more.
arrive()
local lost = {}
for at = 3, #ARGV do
  local member = ARGV[at]
  local item = item_of(member)
  if item and item.owner == ARGV[1] and redis.call('ZSCORE', key('out'), member) then
    redis.call('ZADD', key('out'), whole(NOW + tonumber(ARGV[2])), member)
  else
    lost[#lost + 1] = member
  end
end
return lost
