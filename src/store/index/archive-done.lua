-- Removes a request from those that are to be archived.
-- Must never remove what was noted since it was taken: the request was closed once more then.
--
-- KEYS[1] sorted set of requests by when to archive them   ARGV[1] request   ARGV[2] its score since it was taken
-- Returns { 'done' } | { 'changed' }.
local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
-- @guard archive-noted-again
if not score or tonumber(score) ~= tonumber(ARGV[2]) then
  return { 'changed' }
end
redis.call('ZREM', KEYS[1], ARGV[1])
return { 'done' }
