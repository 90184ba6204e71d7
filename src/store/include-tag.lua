-- What stands between the colons of the names of a request's keys. keys.ts is its other half.
-- Must never give requests that are under one key different slots: what closes their tag stands before the last part of the id.
local UNDER_KEY = '^once%.' .. string.rep('%x', 32) .. '%..'
local LAST_PART = 38

local function tag_of(request)
  local own = string.match(request, '~(.*)$') or request
  if not string.find(own, UNDER_KEY) then
    return '{' .. request .. '}'
  end
  local at = #request - #own + LAST_PART
  return '{' .. string.sub(request, 1, at - 1) .. '}' .. string.sub(request, at) .. '}'
end
