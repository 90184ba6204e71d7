-- The stream of all signals of a tenant, which docs/redis.md describes for its consumers: `signals.stream` of the configuration
-- puts this part into the scripts that append to a log. One Redis only: the stream is in the slot of no request.
-- Must never keep a signal from its log.
local STREAM, MAX_ENTRIES = '@stream', '@max_entries'

local function text_or(value, otherwise)
  return type(value) == 'string' and value or otherwise
end

-- Adds a signal, JSON as the log has it, with the members that the log leaves out.
stream_append = function(number, json)
  local tenant, request = string.match(request_id(), '^([^~]*)~(.*)$')
  request = request or request_id()
  local read, signal = pcall(cjson.decode, json)
  if not read or type(signal) ~= 'table' then
    signal = {}
  end
  local data = type(signal.data) == 'table' and signal.data or {}
  local metadata = type(data.metadata) == 'table' and data.metadata or {}
  local directive, cause = text_or(data.call_id, ''), text_or(signal.causationid, '')
  if directive == '' and redis.call('HEXISTS', STATE, cause .. '|digest') == 1 then
    directive = cause
  end
  local left_out = (signal.specversion and '' or '"specversion":"1.0",') .. (signal.subject and '' or '"subject":"' .. request .. '",')
    .. (signal.datacontenttype and '' or '"datacontenttype":"application/json",')
  redis.call('XADD', tenant and (STREAM .. ':' .. tenant) or STREAM, 'MAXLEN', '~', MAX_ENTRIES, '*', 'request_id', request,
    'directive_id', directive, 'run_id', text_or(metadata.run_id, text_or(data.run_id, request)), 'type', text_or(signal.type, ''),
    'sequence', number, 'signal', '{' .. left_out .. string.sub(json, 2))
end
