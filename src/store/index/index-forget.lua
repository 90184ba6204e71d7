-- Forgets entries of the sweep index, and notes their requests as changed: both or nothing.
-- Must never forget what is not noted: the sweeper notes what a process that died has not; nor the run that was resumed since its end.
-- @include include-tag.lua
--
-- KEYS[1] sweep index   KEYS[2] changed requests
-- ARGV[1] prefix of the installation's keys   ARGV[2] milliseconds from now until their rows are due
-- ARGV[3] how many entries   ARGV[4..] the entries, then the request ids
local PREFIX, FIRST = ARGV[1], 4
local time = redis.call('TIME')
local due_at = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) + tonumber(ARGV[2]))
local last = FIRST - 1 + tonumber(ARGV[3])

-- Whether the entry is that of a run, or of the notice of its end, and the run has not ended.
local function is_of_open_run(member)
  local request = string.match(member, '^([^/]*)/@run$') or string.match(member, '^([^/]*)/@notice/@run$')
  return request and redis.call('HEXISTS', PREFIX .. ':' .. tag_of(request) .. ':state', '@run|inbox') == 1
end

local scored, ended = {}, {}
for index = FIRST, last do
  if not is_of_open_run(ARGV[index]) then
    ended[#ended + 1] = ARGV[index]
  end
end
for index = last + 1, #ARGV do
  scored[#scored + 1] = due_at
  scored[#scored + 1] = ARGV[index]
end
-- @guard search-end-noted
if #scored > 0 then
  redis.call('ZADD', KEYS[2], 'LT', unpack(scored))
end
if #ended > 0 then
  redis.call('ZREM', KEYS[1], unpack(ended))
end
return { 'ok' }
