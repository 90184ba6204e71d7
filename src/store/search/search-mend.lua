-- Removes from a facet of the search index the requests whose rows do not name it.
-- Must never remove one whose row does, nor look at more than a piece: Redis does nothing else meanwhile.
-- @include include-search.lua
--
-- ARGV[1] prefix of the facets   ARGV[2] facet   ARGV[3] where to go on (0 = the beginning)   ARGV[4] about how many are looked at
-- Returns { where to go on (0 = the end), how many were removed }.
local FACET = ARGV[1] .. ARGV[2]
local cursor, scored = unpack(redis.call('ZSCAN', FACET, ARGV[3], 'COUNT', tonumber(ARGV[4])))
local ids = {}
for index = 1, #scored, 2 do
  ids[#ids + 1] = scored[index]
end
if #ids == 0 then
  return { cursor, 0 }
end
local wrong = {}
for index, row in ipairs(redis.call('HMGET', ROWS, unpack(ids))) do
  local _, _, facets = parts(row)
  if not string.find('\1' .. (facets or ''), '\1' .. ARGV[2] .. '\1', 1, true) then
    wrong[#wrong + 1] = ids[index]
  end
end
if #wrong > 0 then
  redis.call('ZREM', FACET, unpack(wrong))
end
return { cursor, #wrong }
