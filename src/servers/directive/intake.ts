/** Messages of a client before the SDK reads them: passed on, or answered at once.
 *  It must never throw: the SDK refuses some messages with other words and codes than the contract's, or not at all. */
import { isJSONRPCRequest, type JSONRPCMessage } from '@modelcontextprotocol/server';
import { jsonExcess } from '../../platform/bounds/json-shape.ts';
import { type Refusal, serverFault, unknownMethod } from './refusal.ts';

/** Far more than any message of these tools needs. */
const LIMITS = { maxDepth: 64, maxValues: 20_000 };

export interface RefusedMessage {
  readonly jsonrpc: '2.0';
  /** null: the message has no usable id. */
  readonly id: string | number | null;
  readonly error: Refusal;
}

export type Intake =
  | { readonly kind: 'message'; readonly message: JSONRPCMessage }
  | { readonly kind: 'refused'; readonly answer: RefusedMessage }
  | { readonly kind: 'ignored' };

type Fields = Readonly<Record<string, unknown>>;

const IGNORED: Intake = { kind: 'ignored' };
const NOT_JSON: Refusal = { code: -32_700, message: 'Parse error' };
const NOT_A_REQUEST: Refusal = { code: -32_600, message: 'Invalid Request' };

export function intakeOf(bytes: Buffer): Intake {
  if (jsonExcess(bytes, LIMITS) !== null) return refuse(null, NOT_JSON);
  try {
    return intakeOfValue(JSON.parse(bytes.toString('utf8')));
  } catch {
    return refuse(null, NOT_JSON);
  }
}

function intakeOfValue(value: unknown): Intake {
  if (!isFields(value)) return refuse(null, NOT_A_REQUEST);
  if ('result' in value || 'error' in value) return asMessage(value);
  if (value['id'] === undefined)
    return typeof value['method'] === 'string' ? asMessage(plain(value)) : IGNORED;
  const { id } = value;
  if (typeof id !== 'string' && !Number.isSafeInteger(id)) return refuse(null, NOT_A_REQUEST);
  const refusal = refusalOf(value) ?? (isJSONRPCRequest(plain(value)) ? null : NOT_A_REQUEST);
  return refusal === null ? asMessage(plain(value)) : refuse(id as string | number, refusal);
}

function refusalOf({ jsonrpc, method, params }: Fields): Refusal | null {
  if (jsonrpc !== undefined && jsonrpc !== '2.0') return NOT_A_REQUEST;
  if (typeof method !== 'string') return unknownMethod(method);
  if (isAbsent(params)) return method === 'tools/call' ? NO_NAME : null;
  if (!isFields(params)) return serverFault('params must be an object');
  if (method !== 'tools/call') return null;
  if (typeof params['name'] !== 'string') return NO_NAME;
  const { arguments: args } = params;
  return isAbsent(args) || isFields(args) ? null : serverFault('arguments must be an object', 'arguments');
}

const NO_NAME = serverFault('name must be a string', 'name');

/** Repairs what the SDK would refuse although it is harmless: `null` for an absent member, no version. */
function plain({ params, ...rest }: Fields): Fields {
  const message = { ...rest, jsonrpc: '2.0' };
  if (!isFields(params)) return message;
  const { arguments: args, ...others } = params;
  return { ...message, params: isAbsent(args) ? others : params };
}

function asMessage(value: Fields): Intake {
  return { kind: 'message', message: value as unknown as JSONRPCMessage };
}

function refuse(id: string | number | null, error: Refusal): Intake {
  return { kind: 'refused', answer: { jsonrpc: '2.0', id, error } };
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
