/** Turns what was thrown into the envelope, and whether the server may have seen the call.
 *  It must never call a lost connection unsent. */
import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { describe, expect, test } from 'vitest';
import { type FailureContext, endedCall, failedCall } from '../../../src/mcp/call-failure.ts';
import { describe as describeError } from '../../../src/mcp/connect-fault.ts';

const held = { server: 's', holdsSessionId: true };
const none = { server: 's', holdsSessionId: false };

function http(status: number, more: object = {}): SdkHttpError {
  return new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, 'no', { status, ...more });
}

function fetchFailure(code: string): TypeError {
  return new TypeError('fetch failed', { cause: Object.assign(new Error(`connect ${code}`), { code }) });
}

interface Expected {
  readonly type: string;
  readonly sent: boolean;
  readonly refused: boolean;
  readonly retryable: boolean;
}
type Case = readonly [name: string, error: unknown, context: FailureContext, expected: Expected];

/** Sent and refused cannot both be. */
function expected(type: string, how: 'sent' | 'unsent' | 'refused', retryable: boolean): Expected {
  return { type, sent: how === 'sent', refused: how === 'refused', retryable };
}

const CASES: readonly Case[] = [
  ['404', http(404), none, expected('network', 'refused', true)],
  ['400 in a session', http(400), held, expected('network', 'refused', true)],
  ['400 without one', http(400), none, expected('executor', 'unsent', false)],
  ['401', http(401), held, expected('auth', 'unsent', false)],
  ['403', http(403), held, expected('auth', 'unsent', false)],
  ['429', http(429), held, expected('rate_limited', 'unsent', true)],
  ['502', http(502), held, expected('provider_error', 'sent', true)],
  ['refused', fetchFailure('ECONNREFUSED'), none, expected('network', 'refused', true)],
  ['unknown host', fetchFailure('ENOTFOUND'), none, expected('network', 'refused', true)],
  ['reset', fetchFailure('ECONNRESET'), none, expected('network', 'sent', true)],
  ['socket', fetchFailure('UND_ERR_SOCKET'), none, expected('network', 'sent', true)],
  ['anything', new Error('odd'), none, expected('network', 'sent', true)],
  ['no error at all', 'odd', none, expected('network', 'sent', true)],
  ['not connected', new Error('Not connected'), none, expected('network', 'refused', true)],
  sdk('NotConnected', expected('network', 'refused', true)),
  sdk('SendFailed', expected('network', 'unsent', true)),
  sdk('ConnectionClosed', expected('network', 'sent', true)),
  sdk('InvalidResult', expected('invalid_result', 'sent', false)),
  sdk('ClientHttpUnexpectedContent', expected('invalid_result', 'sent', false)),
  sdk('CapabilityNotSupported', expected('executor', 'sent', false)),
  rpc(-32602, 'Unknown tool: x', 'unknown_tool'),
  rpc(-32602, 'a must be a number', 'validation_error'),
  rpc(-32602, 'Invalid tools/call result: [{"path":["content"]}]', 'invalid_result'),
  rpc(-32603, 'broken inside', 'tool_error'),
  rpc(1001, 'no more today', 'tool_error'),
  rpc(-32600, 'Tool x has an output schema but did not return structured content', 'invalid_result'),
];

function sdk(code: keyof typeof SdkErrorCode, outcome: Expected): Case {
  return [code, new SdkError(SdkErrorCode[code], 'no'), held, outcome];
}

function rpc(code: number, message: string, type: string): Case {
  return [message, new ProtocolError(code, message), none, expected(type, 'sent', false)];
}

describe('a failed call', () => {
  test.each(CASES)('%s', (_, error, context, outcome) => {
    const failed = failedCall(error, context);
    const { type, retryable } = failed.error;
    expect({ type, retryable, sent: failed.sent, refused: failed.refused }).toEqual(outcome);
    expect(failed.error.details['server']).toBe('s');
  });

  test('keeps Retry-After, and the data of a tool that has an error of its own', () => {
    expect(failedCall(http(429, { retryAfterMs: 5_000 }), none).error.details['retry_after_ms']).toBe(5_000);
    const { error } = failedCall(new ProtocolError(1001, 'no', { quota: 0 }), none);
    expect(error.details).toMatchObject({ code: 1001, data: { quota: 0 } });
    expect(failedCall(new ProtocolError(1001, 'no', { retryable: true }), none).error.retryable).toBe(true);
  });

  test('never quotes what the server answered at length', () => {
    const { error } = failedCall(new Error('x'.repeat(10_000)), none);
    expect(JSON.stringify(error).length).toBeLessThan(600);
  });
});

test.each([
  ['cancelled', 'cancelled', false],
  ['timed_out', 'timeout', true],
  ['total_timed_out', 'timeout', true],
  ['stopped', 'network', true],
] as const)('a call ended because it was %s is %s', (ending, type, retryable) => {
  const error = endedCall(ending, { server: 's', timeoutMs: 1, maxTotalMs: 2 });
  expect(error).toMatchObject({ type, retryable });
});

test('a header that cannot be sent is not quoted, since it may be a token', () => {
  const thrown = (() => {
    try {
      return new Headers({ authorization: `Bearer ${'secret'.repeat(100)}\nmore` });
    } catch (error) {
      return error;
    }
  })();
  expect(String(thrown)).toContain('secret');
  expect(failedCall(thrown, none).error.details['reason']).toBe('Headers.append: a header value is invalid.');
});

test('a server that is down is described by the reason, without the names of what was tried', () => {
  const cause = fetchFailure('ECONNREFUSED');
  const said = 'Version negotiation probe failed: fetch failed: connect ECONNREFUSED';
  const negotiation = new SdkError(SdkErrorCode.EraNegotiationFailed, said, { cause }, { cause });
  expect(describeError(negotiation)).toBe('connect ECONNREFUSED');
  expect(describeError(cause)).toBe('connect ECONNREFUSED');
  expect(describeError(new TypeError('fetch failed'))).toBe('fetch failed');
});
