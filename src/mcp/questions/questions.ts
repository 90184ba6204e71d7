/** Reads what a server asks its client for, within bounds, and writes the answers as the protocol wants them.
 *  It must never pass on a question that cannot be shown whole: a larger one fails the call. */
import { isDeeperThan } from '../../contract/json/json-guard.ts';
import { isObject } from '../../contract/json/json-object.ts';
import {
  APPROVAL_KEY,
  QUESTION_LIMITS,
  type QuestionAnswer,
  type ToolQuestion,
} from '../../contract/tool/tool-question.ts';
import { readSampling, type SamplingRequest } from './sampling.ts';

/** A question of a round, with the server's name for it. */
export interface NamedQuestion {
  readonly key: string;
  readonly question: ToolQuestion;
}

/** Request of a server to a model, with the server's name for it. */
export interface NamedSampling {
  readonly key: string;
  readonly sampling: SamplingRequest;
}

/** Requests of a modern server before it goes on. */
export interface InputRequired {
  readonly questions: readonly NamedQuestion[];
  readonly samplings: readonly NamedSampling[];
  /** Goes back unread, with the answers; null: nothing. */
  readonly state: string | null;
}

export type Read<T> =
  | { readonly ok: true; readonly value: T }
  /** `unsupported`: it is no question, and needs a capability that this client does not have. */
  | { readonly ok: false; readonly unsupported: boolean; readonly reason: string };

const { perRound, messageCharacters, urlCharacters, schemaBytes, properties, stateBytes } = QUESTION_LIMITS;
const MAX_KEY_CHARACTERS = 256;
const DEEPEST_SCHEMA = 16;

/** Reads a result whose type is `input_required`. */
export function readInputRequired(result: Readonly<Record<string, unknown>>): Read<InputRequired> {
  const { inputRequests = {}, requestState: state } = result;
  const requests = Object.entries(isObject(inputRequests) ? inputRequests : {});
  if (requests.length > perRound) return refused(`asks more than ${perRound} questions at once`);
  if (typeof state === 'string' && Buffer.byteLength(state) > stateBytes)
    return refused(`wants more than ${stateBytes} bytes back with the answers`);
  const questions: NamedQuestion[] = [];
  const samplings: NamedSampling[] = [];
  for (const [key, request] of requests) {
    if (key === '' || key.length > MAX_KEY_CHARACTERS) return refused('has a question without a usable name');
    // Readers would show it as a question of the service itself.
    if (key === APPROVAL_KEY) return refused(`names a question '${APPROVAL_KEY}', as only the service does`);
    const read = readRequest(request);
    if (!read.ok) return read;
    if ('mode' in read.value) questions.push({ key, question: read.value });
    else samplings.push({ key, sampling: read.value });
  }
  return { ok: true, value: { questions, samplings, state: typeof state === 'string' ? state : null } };
}

function readRequest(request: unknown): Read<ToolQuestion | SamplingRequest> {
  const { method, params } = Object(request) as { method?: unknown; params?: unknown };
  if (method === 'elicitation/create') return readQuestion(params);
  if (method === 'sampling/createMessage') return readSampling(params);
  return { ok: false, unsupported: true, reason: `asks for ${String(method).slice(0, 64)}` };
}

/** `params` of `elicitation/create`. */
export function readQuestion(params: unknown): Read<ToolQuestion> {
  const { mode = 'form', message, requestedSchema, url } = Object(params) as Record<string, unknown>;
  if (typeof message !== 'string') return refused('asks a question without a message');
  if (message.length > messageCharacters)
    return refused(`asks a question of more than ${messageCharacters} characters`);
  if (mode === 'url') return readUrl(message, url);
  if (mode !== 'form') return refused('asks a question of an unknown kind');
  return readForm(message, requestedSchema);
}

/** `data` of the error that a legacy server answers a call with before a person has opened its pages. */
export function readPagesRequired(data: unknown): Read<InputRequired> {
  const { elicitations } = Object(data) as { elicitations?: unknown };
  if (!Array.isArray(elicitations) || elicitations.length === 0)
    return refused('wants a page to be opened, and names none');
  if (elicitations.length > perRound) return refused(`asks more than ${perRound} questions at once`);
  const questions: NamedQuestion[] = [];
  for (const [index, each] of (elicitations as unknown[]).entries()) {
    const { message, url } = Object(each) as Record<string, unknown>;
    const read = readQuestion({ mode: 'url', message, url });
    if (!read.ok) return read;
    questions.push({ key: String(index + 1), question: read.value });
  }
  return { ok: true, value: { questions, samplings: [], state: null } };
}

function readForm(message: string, given: unknown): Read<ToolQuestion> {
  if (!isObject(given)) return refused('asks a question without a schema');
  const schema = given as Record<string, unknown>;
  // Before its size is taken: that would overflow the stack.
  if (isDeeperThan(schema, DEEPEST_SCHEMA)) return refused('asks a question with a schema that is too deep');
  if (Buffer.byteLength(JSON.stringify(schema)) > schemaBytes)
    return refused(`asks a question with a schema of more than ${schemaBytes} bytes`);
  const fields = isObject(schema['properties']) ? Object.keys(schema['properties']).length : 0;
  if (fields > properties) return refused(`asks for more than ${properties} values at once`);
  return { ok: true, value: { mode: 'form', message, schema } };
}

/** Reads a URL in its ASCII form, and without a user, which can resemble a host: a person reads the address that the browser opens. */
function readUrl(message: string, given: unknown): Read<ToolQuestion> {
  const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    return refused('asks to open something that is no http or https URL');
  if (url.username !== '' || url.password !== '')
    return refused('asks to open a URL with a user name or a password');
  if (url.href.length > urlCharacters)
    return refused(`asks to open a URL of more than ${urlCharacters} characters`);
  return { ok: true, value: { mode: 'url', message, url: url.href } };
}

function refused(reason: string): { ok: false; unsupported: false; reason: string } {
  return { ok: false, unsupported: false, reason };
}

/** As an `ElicitResult`. */
export function elicitResult({ action, content }: QuestionAnswer): Record<string, unknown> {
  return { action, ...(action === 'accept' && content !== undefined ? { content } : {}) };
}
