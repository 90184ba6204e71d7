-- Several scripts in one call, each on its own keys and arguments; one that fails leaves the others as they are.
-- ARGV: name, number of keys, number of arguments, arguments; again for each. Returns {1, reply} or {0, error} for each.
local SCRIPTS = {}
-- @scripts
local replies, key, at = {}, 1, 1
while at <= #ARGV do
  local keys, args = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local own_keys = { unpack(KEYS, key, key + keys - 1) }
  local ran, reply = pcall(SCRIPTS[ARGV[at]], own_keys, { unpack(ARGV, at + 3, at + 2 + args) })
  if not ran then
    reply = type(reply) == 'table' and reply.err or tostring(reply)
    -- Of a script that breaks there is no code yet; alone it has this one.
    if not string.match(reply, '^%u+ ') then reply = 'ERR ' .. reply end
    -- A replica writes nothing of it: the client looks for the master and sends the whole call again.
    if string.sub(reply, 1, 8) == 'READONLY' then return redis.error_reply(reply) end
  end
  -- A list of Redis ends at its first nil.
  if reply == nil then reply = false end
  replies[#replies + 1] = { ran and 1 or 0, reply }
  key, at = key + keys, at + 3 + args
end
return replies
