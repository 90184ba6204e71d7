-- Notes a caller that has told a run what to do, beside the one that started it, for as long as the request is stored.
-- Must never write anything of a run that does not exist, nor count a caller twice.
-- @include include-record.lua
--
-- ARGV[1] digest of the caller
-- Returns { 'noted' } | { 'unknown' }
local field = '@run|by|' .. ARGV[1]
local run = redis.call('HMGET', STATE, '@run|version', field)
if not run[1] then
  return { 'unknown' }
end
if not run[2] then
  redis.call('HSET', STATE, field, 1)
  grow(ENTRY_BYTES)
end
return { 'noted' }
