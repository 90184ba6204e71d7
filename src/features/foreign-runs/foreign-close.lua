-- Closes a run: what it has recorded is read on, and nothing new is made.
-- Must never replace how it was closed.
-- @include include-foreign-run.lua
--
-- ARGV[1] 'completed' | 'failed'   ARGV[2] its outcome, JSON
-- Returns { 'kind', 'closed' | 'other' | 'none' }.
if get('name') == '' then
  return { 'kind', 'none' }
elseif get('status') ~= '' and (get('status') ~= ARGV[1] or get('outcome') ~= ARGV[2]) then
  return { 'kind', 'other' }
end
set('status', ARGV[1], 'outcome', ARGV[2])
return { 'kind', 'closed' }
