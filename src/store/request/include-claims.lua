-- When each claim of a directive began, first said something and ended, shared by the scripts that know one of it. What the
-- record tells anyway is not written: the first claim began at `started_at`, the last one ended at `ended_at`. The field
-- `<id>|claim<fence>` of the state is `<claimed at, or -> <first output at, or -> <ended at> <how> <delay_ms> <1 = an attempt> <worker>`,
-- as far as it is known; it may end after each word. The worker is the code of its process, which ends its token.
-- Must never be read by a script to decide anything: an older version writes none of it.
-- @include include-record.lua

-- The newest claims of a directive that are kept, and about what each holds.
local CLAIMS_KEPT, CLAIM_BYTES = 32, 112

local function claim_field(id, fence)
  return id .. '|claim' .. fence
end

-- Adds to `changed`, fields and values to be written, that a claim has ended. `stored`: its field (false = none).
-- `counted`: 1 = it was an attempt.
local function claim_ended(changed, id, fence, stored, at, how, delay_ms, counted)
  local claimed, output = string.match(stored or '', '^(%S+) ?(%S*)')
  if output == nil or output == '' then
    output = '-'
  end
  local token = redis.call('HGET', STATE, id .. '|claimant')
  local code = token and string.match(token, '^[0-9a-v]+') or ''
  changed[#changed + 1] = claim_field(id, fence)
  changed[#changed + 1] = (claimed or '-') .. ' ' .. output .. ' ' .. int(at) .. ' ' .. how .. ' ' .. int(delay_ms) .. ' '
    .. counted .. (#code == 23 and (' ' .. string.sub(code, 18)) or '')
end

-- The same for a claim whose worker died, at the end of its lease.
local function claim_lost(changed, id, fence, lease_until)
  local stored = redis.call('HGET', STATE, claim_field(id, fence))
  claim_ended(changed, id, fence, stored, lease_until, 'lost', 0, 1)
end
