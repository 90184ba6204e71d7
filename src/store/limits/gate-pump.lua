-- Looks after the gate of a lane: what has lapsed goes back, what is due goes on, what may go is let out.
-- Must never be needed by one process only, nor rely on being asked often.
-- @include include-gate.lua
--
-- KEYS[1] gate   ARGV[1] how many may be out
-- Returns { how many are in the gate, milliseconds until something is due (-1 = nothing is), 1 = there is more to do now, how many have
--   lapsed, how many were let out before and have not begun, of each of these: member, digest; then as `with_released` }; numbers as text.
arrive()
local known = {}
local function note(member)
  known[#known + 1] = member
  known[#known + 1] = item_of(member).digest
end
local lapsed = lapse()
for _, member in ipairs(lapsed) do
  note(member)
end
wake_asleep()
for _, member in ipairs(redis.call('ZRANGEBYSCORE', key('passes'), '-inf', whole(NOW), 'LIMIT', 0, MOST_LAPSED)) do
  redis.call('ZADD', key('passes'), whole(NOW + 5 * ANNOUNCE_MS), member)
  note(member)
end
local more = release(tonumber(ARGV[1]))

local function soonest(name)
  return tonumber(redis.call('ZRANGE', key(name), 0, 0, 'WITHSCORES')[2])
end

local due = math.min(soonest('asleep') or math.huge, soonest('out') or math.huge, soonest('passes') or math.huge)
local due_ms = (due == math.huge) and -1 or math.max(0, due - NOW)
local again = #known / 2 - #lapsed
return with_released({ whole(redis.call('HLEN', key('items'))), whole(due_ms), more and '1' or '0', whole(#lapsed), whole(again), unpack(known) })
