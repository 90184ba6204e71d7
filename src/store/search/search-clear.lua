-- Begins an empty search index of one tenant: the rows are moved aside, from where those of archived requests are written again.
-- Must never leave a set that names rows, nor replace rows that were moved aside before.
--
-- KEYS[1] rows   KEYS[2] rows moved aside   KEYS[3..] the sets of all rows
-- Returns { 1 }, or { 0 } where rows are moved aside already.
if redis.call('EXISTS', KEYS[2]) == 1 then
  return { 0 }
end
if redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('RENAME', KEYS[1], KEYS[2])
end
redis.call('UNLINK', unpack(KEYS, 3))
return { 1 }
