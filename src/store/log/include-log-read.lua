-- What reads the log of signals of a request, as include-log.lua writes it.
-- @include include-keys.lua

-- At most `count` signals after a sequence: { sequence, JSON } each; 'null' = Redis has lost it.
local function log_after(sequence, count)
  local signals, first = {}, tonumber(sequence) + 1
  local texts = redis.call('LRANGE', LOG, string.format('%.0f', first - 1), string.format('%.0f', first + count - 2))
  for index = 1, #texts do
    signals[index] = { first + index - 1, texts[index] }
  end
  return signals
end

-- The signal with a sequence, JSON; 'null' = there is none.
local function log_at(sequence)
  local entry = log_after(tonumber(sequence) - 1, 1)[1]
  return entry and entry[2] or 'null'
end
