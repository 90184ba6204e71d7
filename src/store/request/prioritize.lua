-- Keeps another priority of a directive that waits.
-- Must never touch one that runs or has ended.
-- @include include-record.lua
--
-- ARGV[1] directive id   ARGV[2] priority
-- Returns { 'kept' } | { 'running' } | { 'ended' } | { 'unknown' }.
local field = ARGV[1] .. '|priority'
local record = redis.call('HMGET', STATE, ARGV[1] .. '|status', field)
local status = record[1]
if not status then
  return { 'unknown' }
elseif is_terminal(status) then
  return { 'ended' }
elseif status == 'running' then
  return { 'running' }
end
redis.call('HSET', STATE, field, ARGV[2])
if not record[2] then
  grow(#field + #ARGV[2])
end
return { 'kept' }
