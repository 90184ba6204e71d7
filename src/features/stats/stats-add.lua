-- Adds counts to the series of one tenant, in the current interval of each length, by the clock of Redis.
-- Must never add the same call twice, nor keep more names than its caller allows.
--
-- KEYS[1] beginning of the tenant's keys of statistics, which are in one slot: `<it><length in ms>:<beginning in ms>:<group>` is a hash of
--   name -> counts, `name=number` separated by spaces; `<it>added:<process>` is the number of the last call of a process
-- ARGV[1] process   ARGV[2] number of the call, which grows   ARGV[3] group   ARGV[4] the most names of an interval
-- ARGV[5] name of the others   ARGV[6] how many lengths follow; for each: milliseconds, and how long its intervals are kept, milliseconds
-- ARGV[..] for each series: name, counts
-- Returns { 1 = added, 0 = it was added before }.
local BASE, GROUP, MOST_NAMES, OTHER, LENGTHS = KEYS[1], ARGV[3], tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[6])
local ADDED = BASE .. 'added:' .. ARGV[1]
-- A process repeats a call whose answer is lost, and no earlier one.
local REMEMBERED_MS = 3600000

-- @guard stats-once
if tonumber(redis.call('GET', ADDED) or '-1') >= tonumber(ARGV[2]) then
  return { 0 }
end
redis.call('SET', ADDED, ARGV[2], 'PX', REMEMBERED_MS)

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local function sum(known, more)
  local numbers, names = {}, {}
  for _, text in ipairs({ known, more }) do
    for name, number in string.gmatch(text, '(%S+)=(%S+)') do
      if not numbers[name] then
        names[#names + 1] = name
      end
      numbers[name] = (numbers[name] or 0) + tonumber(number)
    end
  end
  for at, name in ipairs(names) do
    names[at] = name .. '=' .. string.format('%.14g', numbers[name])
  end
  return table.concat(names, ' ')
end

for at = 7, 5 + 2 * LENGTHS, 2 do
  local length = tonumber(ARGV[at])
  local key = BASE .. ARGV[at] .. ':' .. string.format('%.0f', now - now % length) .. ':' .. GROUP
  local names = redis.call('HLEN', key)
  for series = 7 + 2 * LENGTHS, #ARGV, 2 do
    local name = ARGV[series]
    local known = redis.call('HGET', key, name)
    if not known and names >= MOST_NAMES and name ~= OTHER then
      name = OTHER
      known = redis.call('HGET', key, name)
    end
    if not known then
      names = names + 1
    end
    redis.call('HSET', key, name, sum(known or '', ARGV[series + 1]))
  end
  redis.call('PEXPIRE', key, string.format('%.0f', length + tonumber(ARGV[at + 1])))
end
return { 1 }
