-- Moves an entry that a sweeper took, and that begins much later, to the index of what does.
-- Must never undo what was said meanwhile: a claim that came after the sweeper's look has its own instant.
-- @include include-later.lua
--
-- KEYS[1] sweep index   ARGV[1] `<request>/<directive>`   ARGV[2] its score since it was taken   ARGV[3] lane   ARGV[4] when it begins
-- Returns { 'parked' } | { 'changed' }.
local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not score or tonumber(score) ~= tonumber(ARGV[2]) then
  return { 'changed' }
end
add_later(KEYS[1], ARGV[1] .. '|' .. ARGV[3], tonumber(ARGV[4]))
redis.call('ZREM', KEYS[1], ARGV[1])
return { 'parked' }
