-- An entry of the audit within the script that makes its change. '': no key was asked for, and nothing is noted.
-- Must never grow the stream without a bound, nor keep it for ever. As src/store/access/audit-log.ts writes it.
local function audit_add(stream, text, most_entries, keep_ms)
  if text ~= '' then
    redis.call('XADD', stream, 'MAXLEN', '~', most_entries, '*', 'entry', text)
    redis.call('PEXPIRE', stream, keep_ms)
  end
end
