-- Extends the lease of a directive that runs.
-- Must never bring back what has gone back to its line: another may have it. A lease that is over, and that nobody has taken, goes on.
-- @include include-gate.lua
--
-- KEYS[1] gate   ARGV[1] member   ARGV[2] token   ARGV[3] lease_ms
-- Returns { extended | lost (it is not its own any more) }.
arrive()
local item = item_of(ARGV[1])
if not item or item.owner ~= ARGV[2] or not redis.call('ZSCORE', key('out'), item.member) then
  return { 'lost' }
end
-- @guard limit-extended
redis.call('ZADD', key('out'), whole(NOW + tonumber(ARGV[3])), item.member)
return { 'extended' }
