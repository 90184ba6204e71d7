/** Checks the result of a call: how deep it is, and whether it fits the output schema of its tool.
 *  It must never change it. */
import { errorEnvelope } from '../contract/error-envelope.ts';
import { isDeeperThan } from '../contract/json/json-guard.ts';
import { DEEPEST_RESULT } from '../contract/result.ts';
import type { SchemaVerdict } from '../platform/json-schema/schema-checks.ts';
import type { CallDeadline } from './call-deadline.ts';
import { endedCall } from './call-failure.ts';
import { withNumbers } from './transport/kept-digits.ts';
import type { RawToolResult, ToolCallOutcome, ToolCallRequest } from './tools/tool-call.ts';
import type { ListedTool } from './tools/tool-list.ts';
import { keptContent } from './tools/tool-result.ts';

type Failed = Extract<ToolCallOutcome, { kind: 'failed' }>;

export interface CheckedCall {
  readonly request: ToolCallRequest;
  readonly deadline: CallDeadline;
}

/** `tool` null: the server lists it no longer, so its schema is unknown. */
export async function checkedResult(
  call: CheckedCall,
  tool: ListedTool | null,
  result: RawToolResult,
): Promise<ToolCallOutcome> {
  if (isDeeperThan(result, DEEPEST_RESULT)) return tooDeep(call);
  if (tool === null || tool.output === null || result.isError === true) return { kind: 'result', result };
  const { signal, ending } = call.deadline;
  const { structuredContent: structured, _meta: meta } = result;
  const verdict: SchemaVerdict =
    structured === undefined
      ? { kind: 'faults', faults: [{ path: 'structuredContent', message: 'is required' }] }
      : await tool.output.check(withNumbers(structured, meta) ?? structured, 'structuredContent', {
          tenant: call.request.tenant,
          signal,
        });
  const ended = verdict.kind === 'unchecked' ? ending() : null;
  if (ended !== null) return { kind: 'failed', error: endedCall(ended, call.request), sent: true };
  return misfitOf(tool, verdict, result) ?? { kind: 'result', result };
}

/** null: the result fits, or its schema checks nothing. */
function misfitOf(
  { definition: { server, name: tool } }: ListedTool,
  verdict: SchemaVerdict,
  { content = [] }: RawToolResult,
): Failed | null {
  if (verdict.kind === 'passed' || verdict.kind === 'unusable') return null;
  const isMisfit = verdict.kind === 'faults';
  const message = isMisfit
    ? 'The result does not match the output schema of the tool'
    : `The result could not be checked against the output schema of the tool: ${verdict.reason}`;
  const why = isMisfit ? { errors: verdict.faults } : { reason: verdict.reason };
  const said = content.length === 0 ? {} : { content: keptContent(content) };
  return {
    kind: 'failed',
    error: errorEnvelope('invalid_result', message, { server, tool, ...why, ...said }),
    sent: true,
  };
}

/** Code that walks such a result level by level would overflow its stack. */
function tooDeep({ request: { server, tool } }: CheckedCall): Failed {
  const message = `The result of the tool is nested deeper than ${DEEPEST_RESULT} levels`;
  const error = errorEnvelope('invalid_result', message, { server, tool });
  return { kind: 'failed', error, sent: true };
}
