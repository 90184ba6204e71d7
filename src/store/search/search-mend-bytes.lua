-- Drops from the bytes of a tenant the requests without a row, and takes them off the sum.
-- Must never drop one that has a row, nor look at more than a piece: Redis does nothing else meanwhile.
-- @include include-search.lua
--
-- ARGV[1] where to go on (0 = the beginning)   ARGV[2] about how many are looked at
-- Returns { where to go on (0 = the end), how many were dropped }.
local cursor, held = unpack(redis.call('HSCAN', BYTES, ARGV[1], 'COUNT', tonumber(ARGV[2])))
local dropped = 0
for index = 1, #held, 2 do
  local id = held[index]
  if id ~= '' and redis.call('HEXISTS', ROWS, id) == 0 then
    drop_bytes(id)
    dropped = dropped + 1
  end
end
return { cursor, dropped }
