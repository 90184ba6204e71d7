-- The signal of a first attempt, kept from the acceptance on: whoever claims the directive writes it with the claim.
-- acceptance-words.ts makes it, as stored-signal.ts writes a signal, but for its instant, in whose place it has a dash.
-- Must never be written twice: it goes as it is written.
-- @include include-record.lua

-- Among the bodies, beside the envelope.
local START = '@start|'

-- Milliseconds since the epoch as signals have them: 2026-01-31T12:00:00.000Z.
-- The date is Hinnant's civil_from_days ("chrono-compatible low-level date algorithms"): years begin in March, and repeat after 400.
local function instant_text(ms)
  local floor = math.floor
  local days = floor(ms / 86400000)
  local seconds = floor(ms / 1000) - days * 86400
  local since = days + 719468
  local era = floor(since / 146097)
  local day = since - era * 146097
  local year = floor((day - floor(day / 1460) + floor(day / 36524) - floor(day / 146096)) / 365)
  local of_year = day - (365 * year + floor(year / 4) - floor(year / 100))
  local month = floor((5 * of_year + 2) / 153)
  local of_month = of_year - floor((153 * month + 2) / 5) + 1
  month = month + (month < 10 and 3 or -9)
  return string.format('%04d-%02d-%02dT%02d:%02d:%02d.%03dZ', year + era * 400 + (month <= 2 and 1 or 0), month, of_month,
    floor(seconds / 3600), floor(seconds / 60) % 60, seconds % 60, ms % 1000)
end

-- Writes it after the sequence `before`. `kept`: as it was kept; what the request holds counts it already. Returns its sequence.
local function emit_start(id, kept, before, now)
  local _, place = string.find(kept, '"time":"', 1, true)
  redis.call('HDEL', BODIES, START .. id)
  return (emit_text(before, string.sub(kept, 1, place) .. instant_text(now) .. string.sub(kept, place + 2), false))
end
