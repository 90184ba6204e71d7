-- Ends a directive; see include-finish.lua.
-- Must never end what `finish_directive` refuses.
-- @include include-finish.lua
--
-- ARGV[1] directive id   ARGV[2] fence ('' = on the service's own authority)   ARGV[3] succeeded | failed   ARGV[4] retention_ms
-- ARGV[5] how, as `finish_directive` reads it   ARGV[6] the most bytes of a request   ARGV[7..] signals, JSON, the terminal one last
-- Returns as `finish_directive`.
local ending = { fence = ARGV[2], status = ARGV[3], retention_ms = ARGV[4], how = ARGV[5], request_bytes = ARGV[6] }
return finish_directive(ARGV[1], ending, now_ms(), 7, #ARGV)
