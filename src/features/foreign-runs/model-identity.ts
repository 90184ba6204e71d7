/** The identity of a model call: equal calls of two passes have equal digests, whatever differs that the model does not read.
 *  Pure. */
import { hash } from 'node:crypto';
import { canonicalJson } from '../../contract/json/canonical-json.ts';
import { isObject, ownMember } from '../../contract/json/json-object.ts';
import { jsonSafe } from '../../contract/json/json-safe.ts';
import { isSensitiveKey, redact, REDACTED } from '../../contract/json/redaction.ts';
import type { ModelWire } from '../../contract/model/model-wire.ts';
import type { ModelCall } from '../model-endpoint/turns-of-run.ts';

type Members = Readonly<Record<string, unknown>>;

/** Members at the top of a body that differ from start to start and that no model reads. docs/any-agent.md lists them. */
const OPENAI = ['metadata', 'user', 'safety_identifier', 'prompt_cache_key'];
const VOLATILE: Readonly<Record<ModelWire, readonly string[]>> = {
  openai_chat: OPENAI,
  openai_responses: OPENAI,
  openai_embeddings: ['user'],
  anthropic_messages: ['metadata'],
  anthropic_count_tokens: ['metadata'],
  google_generate: ['labels'],
  google_stream: ['labels'],
  google_embed: ['labels'],
};

const DIGEST_CHARACTERS = 27;

/** 160 bits of SHA-256. */
export function digestOf(value: unknown): string {
  return hash('sha256', canonicalJson(value), 'base64url').slice(0, DIGEST_CHARACTERS);
}

/** The body without its volatile members, and without the date that the Claude Agent SDK writes into its texts. */
export function lastingBody(wire: ModelWire, members: Members): Members {
  const left = Object.entries(members).filter(([name]) => !VOLATILE[wire].includes(name));
  return Object.fromEntries(wire.startsWith('anthropic_') ? left.map(withoutDate) : left);
}

/** Texts of hosts, which no user has written: `system`, messages of that role, and reminders within other ones. */
function withoutDate([name, value]: [string, unknown]): [string, unknown] {
  if (name === 'system') return [name, undated(value)];
  if (name !== 'messages' || !Array.isArray(value)) return [name, value];
  const messages = value.map((message: unknown) => {
    if (!isObject(message)) return message;
    const content = ownMember<unknown>(message, 'content');
    if (textMember(message, 'role') === 'system') return { ...message, content: undated(content) };
    if (!Array.isArray(content)) return message;
    const blocks = content.map((block: unknown) =>
      textMember(block, 'text').startsWith(REMINDER) ? undated([block])[0] : block,
    );
    return { ...message, content: blocks };
  });
  return [name, messages];
}

const REMINDER = '<system-reminder>';
const DATE = /(Today's date(?: is|:) )\d{4}-\d{2}-\d{2}/g;

/** A text, or a list of blocks with texts. */
function undated<T>(value: T): T {
  if (typeof value === 'string') return value.replaceAll(DATE, '$1') as T;
  if (!Array.isArray(value)) return value;
  return value.map((block: unknown) =>
    isObject(block) && typeof block['text'] === 'string' ? { ...block, text: undated(block['text']) } : block,
  ) as T;
}

/** The digest of a call. A streamed answer and a whole one have different bytes, and are different calls. */
export function callDigest({ wire, model, body, members, isStreamed }: ModelCall): string {
  const exact = MAY_BE_ROUNDED.test(body) ? exactMembers(body) : members;
  return digestOf([wire, model, isStreamed, lastingBody(wire, exact)]);
}

/** A number with more digits than a double holds, or an exponent; such text elsewhere is parsed for nothing. */
const MAY_BE_ROUNDED = /[\d.]{16}|\d[eE]/;

/** The members of a body, with the text of each number that a double rounds. */
function exactMembers(body: string): Members {
  const exact = (_name: string, value: unknown, { source = '' }: { source?: string }): unknown =>
    typeof value !== 'number' || isExact(value, source) ? value : { number: source };
  return JSON.parse(body, exact as (name: string, value: unknown) => unknown) as Members;
}

/** No double needs as many characters. */
const LONGEST_EXACT = 64;

function isExact(value: number, source: string): boolean {
  return source.length <= LONGEST_EXACT && decimalOf(source) === decimalOf(String(value));
}

/** One spelling for each value of a number; `Infinity` has none. */
function decimalOf(text: string): string | null {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  if (whole === '') return null;
  const zeros = digits.length - digits.replace(/0+$/, '').length;
  if (digits === '') return '0';
  return `${sign}${digits.slice(0, digits.length - zeros)}e${Number(exponent) - fraction.length + zeros}`;
}

const MOST_NAME_CHARACTERS = 256;

/** Hosts write the parts of a name with different marks between them: `mcp__server__tool`, `server.tool`. */
export function normalName(name: string): string {
  return name.slice(0, MOST_NAME_CHARACTERS).replaceAll(/[^A-Za-z0-9]+/g, '_');
}

/**
 * Digest that tells the beginning of the same task from that of another one, though its instructions differ: of roles and tools by name, and
 * the last message that is no instruction. '': an answer of a model is in the history, or the call has no history.
 */
export function openingShape({ wire, members }: Pick<ModelCall, 'wire' | 'members'>): string {
  const messages = historyOf(members);
  const roles = messages.map((message) => textMember(message, 'role') || textMember(message, 'type'));
  const last = messages.findLast((_, at) => !INSTRUCTING_ROLES.has(roles[at] ?? '')) ?? messages.at(-1);
  if (last === undefined || roles.some((role) => !OPENING_ROLES.has(role))) return '';
  return digestOf([wire, roles, toolNames(members), last]);
}

const INSTRUCTING_ROLES: ReadonlySet<string> = new Set(['system', 'developer']);
const OPENING_ROLES: ReadonlySet<string> = new Set(['', ...INSTRUCTING_ROLES, 'user', 'message']);

/** Messages of any wire; an input of text is one message. */
function historyOf(members: Members): readonly unknown[] {
  const { messages, contents, input } = members;
  if (Array.isArray(messages)) return messages;
  if (Array.isArray(contents)) return contents;
  if ('previous_response_id' in members && members['previous_response_id'] !== null) return [];
  return Array.isArray(input) ? input : typeof input === 'string' ? [{ role: 'user', content: input }] : [];
}

function toolNames({ tools }: Members): readonly string[] {
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool: unknown) => {
    const declared = ownMember(Object(tool), 'functionDeclarations');
    if (Array.isArray(declared)) return declared.map((each: unknown) => textMember(each, 'name'));
    const own = ownMember<unknown>(Object(tool), 'function');
    return [textMember(own, 'name') || textMember(tool, 'name') || textMember(tool, 'type')];
  });
}

function textMember(value: unknown, name: string): string {
  const member = isObject(value) ? ownMember<unknown>(value, name) : undefined;
  return typeof member === 'string' ? member : '';
}

/** The first place in which two bodies differ. */
export interface Difference {
  /** Such as `messages[2].content`; '': the whole. */
  readonly place: string;
  /** JSON, shortened. */
  readonly recorded: string;
  readonly sent: string;
}

const SHOWN_CHARACTERS = 200;
const PLACE_CHARACTERS = 400;
/** Deeper differences are shown at this depth. */
const DEEPEST = 32;

export function firstDifference(recorded: unknown, sent: unknown): Difference {
  let [place, left, right] = ['', recorded, sent];
  let isSecret = false;
  for (let depth = 0; depth < DEEPEST; depth += 1) {
    const step = differingMember(left, right);
    if (step === null) break;
    isSecret ||= typeof step === 'string' && isSensitiveKey(step);
    place += typeof step === 'number' ? `[${step}]` : place === '' ? step : `.${step}`;
    [left, right] = [memberAt(left, step), memberAt(right, step)];
  }
  const text = isSecret ? (): string => REDACTED : shown;
  return { place: place.slice(0, PLACE_CHARACTERS), recorded: text(left), sent: text(right) };
}

/** null: they differ as wholes, or not at all. */
function differingMember(left: unknown, right: unknown): string | number | null {
  const differs = (step: string | number): boolean =>
    canonicalJson(memberAt(left, step)) !== canonicalJson(memberAt(right, step));
  if (Array.isArray(left) && Array.isArray(right)) {
    const longer = Math.max(left.length, right.length);
    for (let at = 0; at < longer; at += 1) if (differs(at)) return at;
    return null;
  }
  if (!isObject(left) || !isObject(right)) return null;
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...names].toSorted().find(differs) ?? null;
}

function memberAt(value: unknown, step: string | number): unknown {
  if (typeof step === 'number') return (value as readonly unknown[])[step];
  return ownMember<unknown>(value as Members, step);
}

function shown(value: unknown): string {
  if (value === undefined) return 'absent';
  const text = JSON.stringify(redact(jsonSafe(value)));
  return text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS - 1)}…`;
}
