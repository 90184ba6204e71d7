// What is said as the first attempt of a tool's call begins.
// Must never say a secret that the arguments name.
import { encryptedHead } from './encrypted.ts';
import { jsonSafe } from './json-safe.ts';
import { redact } from './redaction.ts';
import type { SignalDraft } from './signal.ts';
import type { ToolExec } from './work-directive.ts';

/** Data of `ai.tool.started`. */
export function startedTool({ id: call_id, tool_name, arguments: given }: ToolExec): SignalDraft['data'] {
  return { call_id, tool_name, arguments: redact(jsonSafe(encryptedHead(given))), metadata: {} };
}
