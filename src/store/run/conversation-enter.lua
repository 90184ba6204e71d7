-- Gives a run the turn in its conversation, or says whose turn it is.
-- Must never let two runs of one conversation go on at once.
--
-- KEYS[1] active    string: request of the run that goes on
-- KEYS[2] waiting   list: requests of the runs that wait, in order
-- KEYS[3] history   string: messages of the last run, JSON
-- ARGV[1] request   ARGV[2] 1 = it waits for its turn, 0 = it would rather not
-- ARGV[3] how long the keys stay when nobody comes back to them, ms: longer than any run lasts
-- Returns { 'active', messages JSON ('' = none) } | { 'waiting', request of the active run } | { 'busy', the same }.
local active = redis.call('GET', KEYS[1])
if not active or active == ARGV[1] then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
  redis.call('LREM', KEYS[2], 0, ARGV[1])
  redis.call('PEXPIRE', KEYS[3], ARGV[3])
  return { 'active', redis.call('GET', KEYS[3]) or '' }
elseif ARGV[2] ~= '1' then
  return { 'busy', active }
elseif not redis.call('LPOS', KEYS[2], ARGV[1]) then
  redis.call('RPUSH', KEYS[2], ARGV[1])
  redis.call('PEXPIRE', KEYS[2], ARGV[3])
end
return { 'waiting', active }
