-- The stream of all signals of a tenant, which docs/redis.md describes for its consumers: `signals.stream` of the configuration
-- puts this part into the scripts that append to a log. One Redis only: the stream is in the slot of no request.
-- Must never keep a signal from its log, nor parse its payload: a large one would hold Redis up for a tenth of a second.
local STREAM, MAX_ENTRIES = '@stream', '@max_entries'

local DATA, METADATA, CALL = ',"data":', '"metadata":', '^{"call_id":"([^"\\]+)"'
-- The most bytes of metadata that are parsed, and the most places that are tried.
local MOST_METADATA, MOST_NAMED = 8192, 8

local function parsed(text)
  local read, value = pcall(cjson.decode, text)
  return read and type(value) == 'table' and value or {}
end

-- The metadata are the last member of the data: of all places with that name, only the right one has an object that ends with the data.
local function metadata_of(data)
  local tail = string.sub(data, -MOST_METADATA, -2)
  local named = {}
  local at = string.find(tail, METADATA, 1, true)
  while at do
    named[#named + 1] = at
    at = string.find(tail, METADATA, at + 1, true)
  end
  for index = #named, math.max(1, #named - MOST_NAMED + 1), -1 do
    local metadata = parsed(string.sub(tail, named[index] + #METADATA))
    if next(metadata) then
      return metadata
    end
  end
  return {}
end

-- The directive that a signal is about; '' = it is about the request.
local function directive_of(cause, data)
  local call = string.match(data, CALL)
  return call or (redis.call('HEXISTS', STATE, cause .. '|digest') == 1 and cause) or ''
end

-- Adds a signal, JSON as the log has it, with the members that the log leaves out.
stream_append = function(number, json)
  local tenant, request = string.match(request_id(), '^([^~]*)~(.*)$')
  request = request or request_id()
  local at, last = string.find(json, DATA, 1, true)
  local head = parsed(at and string.sub(json, 1, at - 1) .. '}' or json)
  local data = last and string.sub(json, last + 1, -#',"sequence":}' - #number - 1) or '{}'
  local run = metadata_of(data).run_id
  local left_out = (head.specversion and '' or '"specversion":"1.0",') .. (head.subject and '' or '"subject":"' .. request .. '",')
    .. (head.datacontenttype and '' or '"datacontenttype":"application/json",')
  redis.call('XADD', tenant and (STREAM .. ':' .. tenant) or STREAM, 'MAXLEN', '~', MAX_ENTRIES, '*', 'request_id', request,
    'directive_id', directive_of(tostring(head.causationid), data), 'run_id', type(run) == 'string' and run or request,
    'type', tostring(head.type), 'sequence', number, 'signal', '{' .. left_out .. string.sub(json, 2))
end
