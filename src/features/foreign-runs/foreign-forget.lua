-- Takes a turn back that was made last, and whose model call was refused.
-- Must never do so when another caller has found it, nor give its number to another turn.
-- @include include-foreign-run.lua
--
-- ARGV[1] request of the turn
-- Returns { 'kind', 'forgotten' | 'kept' }.
local turn, before = string.match(get('undo'), '^(%d+) (.+)$')
if not turn or request_of('t' .. turn) ~= ARGV[1] then
  return { 'kind', 'kept' }
end
local fields = cjson.decode(before)
-- Another program of the run has gone on since.
if get('cursor') ~= turn then
  fields.cursor, fields.recent = nil, nil
end
for field, value in pairs(fields) do
  if value == '' then
    redis.call('HDEL', STATE, field)
  else
    set(field, value)
  end
end
redis.call('HDEL', STATE, 'undo', 'n:' .. turn, 's:' .. turn, 'b:' .. turn, 'u:' .. turn)
redis.call('HINCRBY', STATE, 'refused', 1)
return { 'kind', 'forgotten' }
