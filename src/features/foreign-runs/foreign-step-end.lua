-- Records the end of a step, or releases it: by the token of its begin, or as a decision about an unknown outcome.
-- Must never replace an end, nor take one of a process that was replaced.
-- @include include-foreign-run.lua
--
-- ARGV[1] step   ARGV[2] token, or '' (a decision)   ARGV[3] 'result' | 'error' | 'again'   ARGV[4] the end as JSON
-- ARGV[5] keep, milliseconds   ARGV[6] the most bytes of all ends
-- Returns { 'kind', 'recorded' | 'released' | 'other' (another end is recorded) | 'stale' | 'running' | 'none' | 'full' }.
local step, token, how = ARGV[1], ARGV[2], ARGV[3]
local effect, holder, until_at = string.match(get('p:' .. step), '^(%S+) (%S+) (%d+)$')
local recorded = redis.call('HGET', RESULTS, step)
if recorded then
  return { 'kind', recorded == ARGV[4] and 'recorded' or 'other' }
elseif not effect then
  return { 'kind', 'none' }
elseif token ~= '' and token ~= holder then
  return { 'kind', 'stale' }
elseif token == '' and (effect ~= 'once' or tonumber(until_at) > now_ms()) then
  return { 'kind', 'running' }
end
keep(ARGV[5])
if how == 'again' or (how == 'error' and effect ~= 'once') then
  redis.call('HDEL', STATE, 'p:' .. step)
  redis.call('HINCRBY', STATE, 'steps', -1)
  return { 'kind', 'released' }
elseif number('bytes') + #ARGV[4] > tonumber(ARGV[6]) then
  return { 'kind', 'full' }
end
redis.call('HINCRBY', STATE, 'bytes', #ARGV[4])
redis.call('HSET', RESULTS, step, ARGV[4])
keep(ARGV[5])
return { 'kind', 'recorded' }
