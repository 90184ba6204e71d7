-- Says when to look again at an entry of the sweep index that a sweeper took.
-- Must never undo what was said meanwhile: a claim that came after the sweeper's look has its own instant.
--
-- KEYS[1] sweep index   ARGV[1] member   ARGV[2] its score since it was taken   ARGV[3] its next one
-- Returns { 'put_off' } | { 'changed' }.
local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not score or tonumber(score) ~= tonumber(ARGV[2]) then
  return { 'changed' }
end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])
return { 'put_off' }
