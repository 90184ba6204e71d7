-- Drops the rows of requests that are gone.
-- Must never leave a trace of them in the index.
-- @include include-search.lua
--
-- ARGV[1] prefix of the facets   ARGV[2..] request ids
for index = 2, #ARGV do
  drop_row(ARGV[1], ARGV[index])
end
return { #ARGV - 1 }
