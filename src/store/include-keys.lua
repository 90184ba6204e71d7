-- The keys that the scripts of requests and lanes work on, and the clock they work by.
-- Must never be read before the script that is to run is known: scripts that share a call share these functions, and each of them
-- begins with `bind_keys` on its own keys.
-- @include include-tag.lua
--
-- KEYS[1] state   KEYS[2] bodies   KEYS[3] log, of a request as include-record.lua says
-- KEYS[#KEYS] base of a lane's keys, `{<prefix>:<lane>}:<lane>:`; all of them are in one slot
local STATE, BODIES, LOG, BASE

local function bind_keys()
  STATE, BODIES, LOG, BASE = KEYS[1], KEYS[2], KEYS[3], KEYS[#KEYS]
end
bind_keys()

-- From here on the script is about another request. `tag`: what the names of its keys have in common. One Redis only.
local function turn_to(tag)
  STATE, BODIES, LOG = tag .. ':state', tag .. ':bodies', tag .. ':log'
end

local function request_id()
  local id = string.match(STATE, '{(.-)}:')
  return string.find(id, '}', 1, true) and (string.gsub(id, '}', '')) or id
end

-- Milliseconds since the epoch, by the server's clock. Scripts that share a call run at the same instant.
local call_at
local function now_ms()
  if not call_at then
    local time = redis.call('TIME')
    call_at = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  end
  return call_at
end

-- A whole number as text. A float's format costs ten times as much, and a call says the same few numbers again and again.
local texts = {}
local function int(value)
  local text = texts[value]
  if not text then
    text = string.format('%d', value)
    texts[value] = text
  end
  return text
end

-- Of a directive; nil or false = there is none.
local function is_terminal(status)
  return status == 'succeeded' or status == 'failed'
end
