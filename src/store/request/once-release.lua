-- Lets a directive, or a run, begin that waits for the end of the one it replaces.
-- Must never let it begin before that one has ended, nor change when one begins that does not wait so; nor let one begin that is to end itself.
-- @include include-once.lua
--
-- ARGV[1] directive id, or @run
-- Returns { 'released', when it begins } | { 'held' }: that one has not ended | { 'none' }: it does not wait for one.
-- The field `<id>|behind` of the state: `<part> <id> <its own instant> <deadline_ms> <start_by_ms, or ->`.
local id = ARGV[1]
local behind, status, type = unpack(redis.call('HMGET', STATE, id .. '|behind', id .. '|status', id .. '|type'))
-- @guard once-run-to-end
if not behind or (status ~= 'waiting' and id ~= RUN) or (id == RUN and is_to_end(STATE)) then
  return { 'none' }
end
local part, before, own_at, deadline_ms, start_by = string.match(behind, '^(%S+) (%S+) (%d+) (%d+) (%S+)$')
-- @guard once-held
if is_open(part, before) then
  return { 'held' }
end
local at = math.max(now_ms(), tonumber(own_at))
local by = (start_by ~= '-') and int(at + tonumber(start_by)) or '-'
redis.call('HDEL', STATE, id .. '|behind')
local lane, accepted_at = given_of(STATE, id)
change_begin({}, id, { type = type, lane = lane, accepted_at = accepted_at, deadline_ms = tonumber(deadline_ms) }, at, by)
return { 'released', int(at) }
