-- The first claim of a directive, in one field: `<id>|first` of the state is `<lease until> <token>/<lost> <started at, or ->`,
-- milliseconds since the epoch; its fence is 1. Each field of its own costs its name, which begins with the id. It is
-- there from that claim to a success; whatever else becomes of the claim, the heartbeat too, makes `|fence`, `|lease_until`, `|claimant` and
-- `|started_at` of it, which later claims have anyhow. An older process finds no fence beside `running`, and its scripts fail before
-- they write.
-- Must never be there together with `|fence`, nor be longer than a value of a hash that Redis keeps compact, 64 bytes.
-- @include include-keys.lua
local MOST_FIRST_BYTES = 64
local FIRST = '^(%d+) (%S+) (%S+)$'
-- Of an instant, before or after a blank: room for when it started is kept from the claim on.
local INSTANT_BYTES = 14

-- Adds to `changed`, fields and values to be written, the claim as fields of its own. `started_at`: nil or false = it is not to be written.
local function add_claim_fields(changed, id, fence, lease_until, claimant, started_at)
  for name, value in pairs({ fence = fence, lease_until = lease_until, claimant = claimant, started_at = started_at or nil }) do
    changed[#changed + 1] = id .. '|' .. name
    changed[#changed + 1] = value
  end
end

-- Adds the first claim. All but the id as text.
local function add_first_claim(changed, id, lease_until, claimant, started_at)
  if #claimant + 2 * INSTANT_BYTES <= MOST_FIRST_BYTES and not string.find(claimant, '%s') then
    changed[#changed + 1] = id .. '|first'
    changed[#changed + 1] = lease_until .. ' ' .. claimant .. ' ' .. (started_at or '-')
  else
    add_claim_fields(changed, id, '1', lease_until, claimant, started_at)
  end
end

-- The claim that holds, from `|first` (false = there is none) or the fields given after it: fence, lease_until, started_at, claimant; of
-- each false or nil = unknown.
local function claim_from(first, fence, lease_until, started_at, claimant)
  if not first then
    return fence, lease_until, started_at, claimant
  end
  local until_at, token, started = string.match(first, FIRST)
  return '1', until_at, started ~= '-' and started, token
end

-- Makes fields of their own of `|first`, if there is one: adds them to `changed`, before what is added of them later.
local function part_first_claim(changed, id, first)
  if first then
    local fence, lease_until, started_at, claimant = claim_from(first)
    add_claim_fields(changed, id, fence, lease_until, claimant, started_at)
    redis.call('HDEL', STATE, id .. '|first')
  end
end
