-- Reads which processes are there, and drops those that are gone.
-- Must never drop a wish to drain with a process that is only silent: it may come back.
--
-- KEYS[1] workers, as in worker-beat.lua   ARGV[1] gone_after_ms   ARGV[2] forgotten_after_ms
-- Returns per process: id, when it last spoke (milliseconds since the epoch), how long ago that is (milliseconds), what it does (JSON),
-- 1 = it shall take no more work.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local entries, drains, present = redis.call('HGETALL', KEYS[1]), {}, {}
for index = 1, #entries, 2 do
  local field, said_at = entries[index], tonumber(string.match(entries[index + 1], '^%d+') or '0')
  local id = string.match(field, '^drain:(.*)$')
  local age = now - said_at
  if (id and age >= tonumber(ARGV[2])) or (not id and age >= tonumber(ARGV[1])) then
    redis.call('HDEL', KEYS[1], field)
  elseif id then
    drains[id] = true
  else
    present[#present + 1] = { field, string.format('%.0f', said_at), age, string.match(entries[index + 1], '^%d+ (.*)$') or '' }
  end
end
local reply = {}
for index = 1, #present do
  local id, said_at, age, json = unpack(present[index])
  for _, value in ipairs({ id, said_at, age, json, drains[id] and 1 or 0 }) do
    reply[#reply + 1] = value
  end
end
return reply
