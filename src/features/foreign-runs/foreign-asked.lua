-- Notes the tool calls that the answer of a turn asks for.
-- Must never forget which of them were made: a replay notes them again.
-- @include include-foreign-run.lua
--
-- ARGV[1] request of the turn   ARGV[2] JSON: [[name, digest of arguments], ...]   ARGV[3] how many these are
-- ARGV[4] '1': the answer was given from the record | ''
-- Returns { 'kind', 'noted' | 'unknown' }.
local base = get('base')
local turn = string.sub(ARGV[1], 1, #base) == base and string.match(string.sub(ARGV[1], #base + 1), '^%.t(%d+)')
if not turn or get('n:' .. turn) == '' then
  return { 'kind', 'unknown' }
end
set('q:' .. turn, ARGV[2], 'a:' .. turn, ARGV[3])
if ARGV[4] == '1' then
  redis.call('HINCRBY', STATE, 'r:' .. turn, 1)
  redis.call('HINCRBY', STATE, 'replays', 1)
end
return { 'kind', 'noted' }
