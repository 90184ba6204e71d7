-- Gives back what was handed over and is not begun: its job is the next of the lane, and its directive as if nobody had claimed it.
-- Must never touch what is another worker's by now, nor what was begun. One Redis only.
-- @include include-claims.lua
-- @include include-lane.lua
--
-- ARGV[1] job id   ARGV[2] its lock, which is the token of the claim   ARGV[3] what the names of all keys of requests begin with
-- ARGV[4] request   ARGV[5] directive
-- Returns { 1 } | { 0 }: it is not ours any more.
local job, token, id = ARGV[1], ARGV[2], ARGV[5]
if redis.call('GET', BASE .. job .. ':lock') ~= token then
  return { 0 }
end
turn_to(ARGV[3] .. ':' .. tag_of(ARGV[4]))
local status, claimant = unpack(redis.call('HMGET', STATE, id .. '|status', id .. '|claimant'))
if status == 'running' and claimant == token .. '/0' then
  redis.call('HDEL', STATE, id .. '|fence', id .. '|lease_until', id .. '|claimant', id .. '|started_at')
  redis.call('HSET', STATE, id .. '|status', 'accepted')
end
redis.call('DEL', BASE .. job .. ':lock')
redis.call('HDEL', BASE .. job, 'processedOn')
redis.call('SREM', BASE .. 'stalled', job)
if redis.call('LREM', BASE .. 'active', -1, job) > 0 then
  redis.call('RPUSH', BASE .. 'wait', job)
  wake_worker()
end
return { 1 }
