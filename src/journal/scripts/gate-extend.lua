-- Extends the lease of directives that run.
-- Must never bring back what has lapsed: another may have it.
-- @include include-gate.lua
--
-- KEYS[1] gate   ARGV[1] token   ARGV[2] lease_ms   ARGV[3...] members
-- Returns { member... }: those that are not its own any more.
local lost = {}
for at = 3, #ARGV do
  local member = ARGV[at]
  local item = item_of(member)
  local until_at = tonumber(redis.call('ZSCORE', key('out'), member) or '0')
  if item and item.owner == ARGV[1] and until_at > NOW then
    redis.call('ZADD', key('out'), whole(NOW + tonumber(ARGV[2])), member)
  else
    lost[#lost + 1] = member
  end
end
return lost
