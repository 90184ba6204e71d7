-- Notes the tool calls that the answer of a turn asks for.
-- Must never forget which of them were made: a replay notes them again.
-- @include include-foreign-run.lua
--
-- ARGV[1] request of the turn   ARGV[2] JSON: [[name, digest of arguments], ...]
-- Returns { 'kind', 'noted' | 'unknown' }.
local base = get('base')
local turn = string.sub(ARGV[1], 1, #base) == base and string.match(string.sub(ARGV[1], #base + 1), '^%.t(%d+)')
if not turn or get('n:' .. turn) == '' then
  return { 'kind', 'unknown' }
end
set('q:' .. turn, ARGV[2])
return { 'kind', 'noted' }
