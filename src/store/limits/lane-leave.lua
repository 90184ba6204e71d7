-- Gives the place in a serial lane back.
-- Must never take it from another claim, which has it by now when a lost connection repeats the command.
--
-- KEYS[1] place   ARGV[1] the claim that leaves, `<request>/<directive>/<fence>`
-- Returns { 'left' } | { 'stale' }.
if redis.call('HGET', KEYS[1], 'holder') ~= ARGV[1] then
  return { 'stale' }
end
redis.call('DEL', KEYS[1])
return { 'left' }
