-- The questions of a directive's tool, shared by every script that writes or removes it. The field `<id>|asked` of the state is
-- `<h|r> <round> <first number> <count> <open> <until> <fence> <asked afresh 0|1>` of the newest round: h = a worker holds the call,
-- r = the claim was given back. The field `<id>|input<number>` is `<at> <action> <cause> <digest> <by>` of an answer.
-- BODIES has `@question|<id>`, the round as JSON, and `@answer|<id>|<number>`, what was answered: the tool alone gets it.
-- Must never leave an answer behind when its directive has ended.
-- @include include-record.lua

local QUESTION, ANSWER = '@question|', '@answer|'

local function asked_round(text)
  local how, round, first, count, open, until_at, fence, afresh =
    string.match(text or '', '^([hr]) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) ([01])$')
  if not how then
    return nil
  end
  return { how = how, round = tonumber(round), first = tonumber(first), count = tonumber(count), open = tonumber(open),
    until_at = tonumber(until_at), fence = fence, afresh = afresh }
end

local function answer_field(id, number)
  return ANSWER .. id .. '|' .. int(number)
end

-- Removes what was asked and answered of a round; who answered stays.
local function forget_round(id, text)
  local round = asked_round(text)
  if not round then
    return
  end
  local fields = { QUESTION .. id }
  for number = round.first, round.first + round.count - 1 do
    fields[#fields + 1] = answer_field(id, number)
  end
  redis.call('HDEL', BODIES, unpack(fields))
end
