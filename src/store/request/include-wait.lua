-- Why a directive waits, shared by every script that says so. The field `<id>|waits` of the state is
-- `<fence> <reason> <until, milliseconds since the epoch, or -> <every reason that was said, each with a comma>`.
-- Must never say a reason twice of one directive unless its caller counts how often, nor when it does not fit into the request.
-- @include include-record.lua

-- Appends the signal (ARGV[at]) unless its reason was said before, or `repeated`; adds to `changed`, fields and values to be written.
-- `request`: seq, bytes, open, limit. Returns its sequence (nil: it was said before, or does not fit).
local function say_wait(changed, id, stored, fence, reason, until_at, request, at, repeated)
  local said, sequence = string.match(stored or '', ' (%S*)$') or '', nil
  local known = string.find(',' .. said, ',' .. reason .. ',', 1, true)
  if (repeated or not known) and has_room(bytes_of_signals(at, at), request.bytes, request.open, request.limit) then
    sequence = emit(request.seq, at, at, false)
    said = known and said or (said .. reason .. ',')
    changed[#changed + 1] = 'seq'
    changed[#changed + 1] = int(sequence)
  end
  changed[#changed + 1] = id .. '|waits'
  changed[#changed + 1] = fence .. ' ' .. reason .. ' ' .. until_at .. ' ' .. said
  return sequence
end
