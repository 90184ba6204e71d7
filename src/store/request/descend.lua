-- Notes at a request that another one repeats it or was forked from it. Its record lives no longer for that.
-- Must never note one twice, nor more than the most.
-- @include include-record.lua
--
-- ARGV[1] id of the other request   ARGV[2] the most that are noted
-- The field `descendants` of the state: ids, the first one first, each followed by a space; ids have none.
-- Returns { 'noted' } | { 'there' } | { 'full' } | { 'unknown' }.
local record = redis.call('HMGET', STATE, 'created_at', 'descendants')
if not record[1] then
  return { 'unknown' }
end
local noted = record[2] or ''
if string.find(' ' .. noted, ' ' .. ARGV[1] .. ' ', 1, true) then
  return { 'there' }
end
local _, count = string.gsub(noted, ' ', '')
if count >= tonumber(ARGV[2]) then
  return { 'full' }
end
redis.call('HSET', STATE, 'descendants', noted .. ARGV[1] .. ' ')
grow(#ARGV[1] + 1)
return { 'noted' }
