-- Adds or removes an API key, or notes that one was used. A change sets a new version, is announced and stands in the audit.
-- Must never set a version that was there before, also when Redis has lost its data meanwhile; nor keep a use of a key that is gone;
-- nor make or remove a key by a decision over keys that others have changed since.
--
-- KEYS[1] keys: hash id -> record, @version   KEYS[2] uses: hash id -> milliseconds   KEYS[3] audit: stream
-- ARGV[1] 'put' | 'remove' | 'use'   ARGV[2] id   ARGV[3] record, or when it was used   ARGV[4] the most keys
-- ARGV[5] channel of changes   ARGV[6] the change: random, for what is counted begins anew in an empty Redis, and the id of the key
-- ARGV[7] the version that was decided over ('' = any)   ARGV[8] entry of the audit ('' = none)   ARGV[9] the most entries
-- ARGV[10] for how long they are kept, milliseconds   ARGV[11] the most changes in a version
-- The version is the list of the last changes, the newest first: a process that knows one of them reads only what was changed since.
-- Returns { 'done' } | { 'full' } | { 'absent' } | { 'changed' }. A repeated 'put' finds its own record and is done.

-- @include include-audit.lua
local TABLE, USES, AUDIT = KEYS[1], KEYS[2], KEYS[3]
local verb, id, value = ARGV[1], ARGV[2], ARGV[3]
local known = redis.call('HGET', TABLE, id)

local function next_version()
  local changes = { ARGV[6] }
  for change in string.gmatch(redis.call('HGET', TABLE, '@version') or '', '%S+') do
    if #changes == tonumber(ARGV[11]) then
      break
    end
    table.insert(changes, change)
  end
  return table.concat(changes, ' ')
end

-- Nothing has a version before the first change.
local function is_outdated()
  -- @guard keys-decided-over
  return ARGV[7] ~= '' and ARGV[7] ~= (redis.call('HGET', TABLE, '@version') or '0')
end

if verb == 'put' then
  if known == value then
    return { 'done' }
  elseif is_outdated() then
    return { 'changed' }
  end
  -- One field is the version.
  if redis.call('HLEN', TABLE) > tonumber(ARGV[4]) then
    return { 'full' }
  end
  redis.call('HSET', TABLE, id, value)
-- @guard keys-use-of-revoked
elseif not known then
  return { 'absent' }
elseif verb == 'use' then
  redis.call('HSET', USES, id, value)
  return { 'done' }
elseif is_outdated() then
  return { 'changed' }
else
  redis.call('HDEL', TABLE, id)
  redis.call('HDEL', USES, id)
end
-- @guard keys-version
redis.call('HSET', TABLE, '@version', next_version())
-- @guard keys-audited
audit_add(AUDIT, ARGV[8], ARGV[9], ARGV[10])
redis.call('PUBLISH', ARGV[5], '')
return { 'done' }
