-- Tries a tool call again under another id, while its run is open.
-- Must never do so twice for callers that saw the same end.
-- @include include-foreign-run.lua
--
-- ARGV[1] its id in the run   ARGV[2] its request as it has ended
-- Returns { 'request', id }.
if get('status') == '' then
  try_again(ARGV[1], ARGV[2])
end
return { 'request', request_of(ARGV[1]) }
