// The signal of the first attempt of a tool's call. Never shows a secret that the arguments name.
import { encryptedHead } from '../encrypted/encrypted.ts';
import { jsonSafe } from '../json/json-safe.ts';
import { redact } from '../json/redaction.ts';
import type { SignalDraft } from '../signal/signal.ts';
import type { ToolExec } from '../directive/work-directive.ts';

/** Data of `ai.tool.started`. */
export function startedTool({ id: call_id, tool_name, arguments: given }: ToolExec): SignalDraft['data'] {
  return { call_id, tool_name, arguments: redact(jsonSafe(encryptedHead(given))), metadata: {} };
}
