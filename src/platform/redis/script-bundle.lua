-- Several scripts in one call, each on its own keys and arguments; one that fails leaves the others as they are.
-- ARGV: name, number of keys, number of arguments, arguments; again for each. Returns {1, reply} or {0, error} for each.
local redis, all_keys, all_args = redis, KEYS, ARGV
-- Of the script that runs: what the scripts share reads them here, and takes what it needs of them in its own `bind_keys`.
local KEYS, ARGV = KEYS, ARGV
local function bind_keys() end
local SCRIPTS = {}
-- @scripts
local replies, key, at = {}, 1, 1
while at <= #all_args do
  local keys, args = tonumber(all_args[at + 1]), tonumber(all_args[at + 2])
  KEYS, ARGV = { unpack(all_keys, key, key + keys - 1) }, { unpack(all_args, at + 3, at + 2 + args) }
  bind_keys()
  local ran, reply = pcall(SCRIPTS[all_args[at]], KEYS, ARGV)
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
