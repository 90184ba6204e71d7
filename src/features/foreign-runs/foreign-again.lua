-- Tries a tool call again under another id.
-- Must never do so twice for callers that saw the same end.
-- @include include-foreign-run.lua
--
-- ARGV[1] its id at the first try   ARGV[2] its id as it has ended
-- Returns { 'id', directive }.
if tried(ARGV[1]) == ARGV[2] then
  redis.call('HINCRBY', STATE, 'y:' .. ARGV[1], 1)
end
return { 'id', tried(ARGV[1]) }
