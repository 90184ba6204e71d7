-- Looks through a sorted set of the search index, newest first, for requests that are in all other sets as well.
-- Must never look at more than it is told: Redis does nothing else meanwhile.
--
-- KEYS[1] rows   KEYS[2] the set to look through   KEYS[3..] the other sets
-- ARGV[1] begin at this score ('' = the newest)   ARGV[2] and after this request id ('' = with the first of that score)
-- ARGV[3] end at this score ('' = the oldest)   ARGV[4] the most to look at   ARGV[5] the most to return
-- Returns { score and id of the last one looked at ('' '' = the end was reached), { request id, row }... }.
local SET, FROM, AFTER, UNTIL = KEYS[2], ARGV[1], ARGV[2], tonumber(ARGV[3])
local SEEN, FOUND = tonumber(ARGV[4]), tonumber(ARGV[5])

-- Where the scan begins; the last request of the page before may have left the set.
local function position()
  if FROM == '' then
    return 0
  end
  local rank = AFTER ~= '' and redis.call('ZREVRANK', SET, AFTER)
  if rank and redis.call('ZSCORE', SET, AFTER) == FROM then
    return rank + 1
  end
  return redis.call('ZCOUNT', SET, '(' .. FROM, '+inf')
end

local function is_in_all(id)
  for index = 3, #KEYS do
    if not redis.call('ZSCORE', KEYS[index], id) then
      return false
    end
  end
  return true
end

local first = position()
local seen = redis.call('ZRANGE', SET, first, first + SEEN - 1, 'REV', 'WITHSCORES')
local found, last_score, last_id = {}, '', ''
local ended = #seen < 2 * SEEN
for index = 1, #seen, 2 do
  local id, score = seen[index], seen[index + 1]
  if UNTIL and tonumber(score) < UNTIL then
    ended = true
    break
  end
  last_score, last_id = score, id
  if not (score == FROM and id >= AFTER and AFTER ~= '') and is_in_all(id) then
    found[#found + 1] = id
    if #found >= FOUND then
      ended = ended and index == #seen - 1
      break
    end
  end
end
local reply = { ended and '' or last_score, ended and '' or last_id }
if #found > 0 then
  local rows = redis.call('HMGET', KEYS[1], unpack(found))
  for index, id in ipairs(found) do
    reply[#reply + 1] = id
    reply[#reply + 1] = rows[index] or ''
  end
end
return reply
