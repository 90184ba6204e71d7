-- Extends the lease of a running attempt (the heartbeat), and tells whether the attempt should go on.
-- Must never revive a lease that was taken over or a directive that ended.
-- @include include-record.lua
--
-- ARGV[1] directive id   ARGV[2] fence   ARGV[3] lease_ms
-- Returns { 'extended' } | { 'cancelled' } | { 'lost' }.
local id = ARGV[1]
local record = redis.call('HMGET', STATE, id .. '|status', id .. '|fence', id .. '|cancel')
if record[1] ~= 'running' or record[2] ~= ARGV[2] then
  return { 'lost' }
end
redis.call('HSET', STATE, id .. '|lease_until', int(now_ms() + tonumber(ARGV[3])))
return { record[3] and 'cancelled' or 'extended' }
