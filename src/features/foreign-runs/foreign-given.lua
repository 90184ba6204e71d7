-- Notes that the answer of a call was given whole to its caller: an equal call of a later turn is another one.
-- Must never make a record, nor note a call of another run.
-- @include include-foreign-run.lua
--
-- ARGV[1] request of the call
-- Returns { 'kind', 'noted' | 'unknown' }.
local base = get('base')
local own = base ~= '' and string.sub(ARGV[1], 1, #base + 1) == base .. '.' and string.sub(ARGV[1], #base + 2) or ''
-- Without the number of a further try.
local id = string.match(own, '^t%d+%.c%d+') or string.match(own, '^c%.[^.]+%.%d+') or ''
local call = string.match(id, '^c%.([^.]+)') or string.match(get('m:' .. string.gsub(id, '^t(%d+)%.c', '%1.')), '^%S+')
local held = call and get('h:' .. call) or ''
if held == '' then
  return { 'kind', 'unknown' }
end
local rest = without(held, id, MOST_HELD)
if rest == '' then
  redis.call('HDEL', STATE, 'h:' .. call)
else
  set('h:' .. call, rest)
end
return { 'kind', 'noted' }
