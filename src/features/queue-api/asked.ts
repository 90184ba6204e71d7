// Reads a BullMQ job as a submission: its data within the bounds of an HTTP body, its options as fields of the directive.
// Pure: never changes a job, nor decides who may submit.
import { hash } from 'node:crypto';
import { jsonShape } from '../../platform/bounds/json-shape.ts';
import { type CustomTypes } from '../../contract/directive/custom-directive.ts';
import { parseSubmission, type SubmittedDirective } from '../../contract/directive/directive.ts';
import { InexactJson, parseExactJson } from '../../contract/json/exact-json.ts';
import { fieldErrors, refusedAt } from '../../contract/json/field-error.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { IDEMPOTENCY_KEY } from '../../contract/directive/keyed-ids.ts';
import { ONCE_KINDS } from '../../contract/directive/once.ts';
import { DirectiveRefused, type FieldError, problem } from '../../contract/problem.ts';
import { type SubmittedRun, startRunBodySchema } from '../../contract/run/run.ts';
import { isTraceparent } from '../../platform/telemetry/traces/trace-context.ts';

/** Bounds of the data of a job: those of an HTTP body. */
export interface DataBounds {
  readonly bytes: number;
  /** Members, elements and containers together. */
  readonly values: number;
}

/** Same depth as for HTTP bodies: deeper content is refused by its schema anyway. */
const DEEPEST = 1_024;
const LONGEST_TOKEN = 8_192;

/** The part of a BullMQ job that a submission is made of. */
export interface JobFacts {
  readonly id: string;
  /** When the producer added it, milliseconds since the epoch. */
  readonly timestamp: number;
  /** Number of times that the job has failed: above 0 after a retry by hand. */
  readonly attemptsMade: number;
  readonly priority: number;
  /** As the producer gave them: of any form. */
  readonly opts: Readonly<Record<string, unknown>>;
}

interface Common {
  /** API key or JWT of the producer; undefined: there is none. */
  readonly token: string | undefined;
  readonly traceparent: string | undefined;
  readonly idempotencyKey: string;
}

/** The submission that a job asks for. */
export type Asked =
  | (Common & { readonly kind: 'directive'; readonly directive: SubmittedDirective })
  | (Common & { readonly kind: 'run'; readonly run: SubmittedRun });

/** The data of a job, parsed. Throws `DirectiveRefused` before parsing what is too large, too deep or has too many values. */
export function parseData(text: string, { bytes, values }: DataBounds): unknown {
  const size = Buffer.byteLength(text);
  if (size > bytes)
    throw refusal('body_too_large', `The data has ${size} bytes; the limit is ${bytes} (limits.body_bytes).`);
  const { excess } = jsonShape(Buffer.from(text), { maxDepth: DEEPEST, maxValues: values });
  if (excess !== null)
    throw refusal(excess.limit === 'depth' ? 'invalid_body' : 'body_too_large', `The data ${excess.text}.`);
  try {
    return parseExactJson(text);
  } catch (error) {
    if (error instanceof InexactJson) throw refusedAt('invalid_body', [error.fault]);
    throw refusal('invalid_json', `The data is not valid JSON: ${(error as Error).message}`);
  }
}

function refusal(code: 'body_too_large' | 'invalid_body' | 'invalid_json', message: string) {
  return new DirectiveRefused(problem(code, { detail: message, errors: [{ path: '', message }] }));
}

/** Throws `DirectiveRefused` (`invalid_body`), which names each faulty field of the data and of the job's options. */
export function askedBy(data: unknown, job: JobFacts, customTypes: CustomTypes): Asked {
  if (!isObject(data)) throw refusedAt('invalid_body', [{ path: '', message: 'must be a JSON object' }]);
  const { token, traceparent = traceparentOf(job.opts), ...content } = data;
  const isRun = 'agent' in content && !('type' in content);
  const options = optionsOf(job);
  const errors = [...memberErrors({ token, traceparent }), ...contentErrors(content), ...options.errors];
  if (errors.length > 0)
    throw refusedAt('invalid_body', [...errors, ...schemaErrors(content, isRun, customTypes)]);
  const common = {
    token: token as string | undefined,
    traceparent: traceparent as string | undefined,
    idempotencyKey: idempotencyKeyOf(job),
  };
  if (isRun) return { ...common, kind: 'run', run: { ...options.priority, ...content } as SubmittedRun };
  const fields = WORK_TYPES.has(content['type']) ? { ...options.retries, ...options.priority } : {};
  return { ...common, kind: 'directive', directive: { ...fields, ...content } as SubmittedDirective };
}

/** Types with fields of retry and priority. Those of modules have what their authors gave them. */
const WORK_TYPES: ReadonlySet<unknown> = new Set([
  'tool_exec',
  'llm_stream',
  'llm_generate',
  'llm_embed',
  'llm_request',
]);

function memberErrors({ token, traceparent }: { token: unknown; traceparent: unknown }): FieldError[] {
  const isToken = token === undefined || (typeof token === 'string' && /^[\x21-\x7E]+$/.test(token));
  const isTooLong = typeof token === 'string' && token.length > LONGEST_TOKEN;
  const isTrace = traceparent === undefined || isTraceparent(traceparent);
  return [
    ...(isToken && !isTooLong ? [] : [{ path: 'token', message: 'must be an API key or a JWT' }]),
    ...(isTrace ? [] : [{ path: 'traceparent', message: 'must be a W3C traceparent' }]),
  ];
}

/** A second process that takes the job must find the same submission, which one under a key of its own does not guarantee. */
const BY_DEDUPLICATION = 'is not taken from the queue: use the `deduplication` of the job';

function contentErrors(content: Readonly<Record<string, unknown>>): FieldError[] {
  const once = ONCE_KINDS.filter((kind) => Object.hasOwn(content, kind));
  const isBatch = Object.hasOwn(content, 'directives') && !Object.hasOwn(content, 'type');
  return [
    ...once.map((path) => ({ path, message: BY_DEDUPLICATION })),
    ...(isBatch ? [{ path: 'directives', message: 'a job holds one directive: add a job for each' }] : []),
  ];
}

/** The other faults of content that is refused already, so that one failure names all of them. */
function schemaErrors(content: object, isRun: boolean, customTypes: CustomTypes): FieldError[] {
  if (isRun) {
    const read = startRunBodySchema.safeParse(content);
    return read.success ? [] : fieldErrors(read.error);
  }
  if ('directives' in content) return [];
  const read = parseSubmission(content, { customTypes });
  return read.ok ? [] : read.errors;
}

/** Ids that BullMQ counts up itself: after the queue was obliterated they begin at 1 again. */
const COUNTED_ID = /^\d+$/;

/**
 * The same job is the same submission, however often a process takes it; a retry by hand after a failure is another one. The id
 * that a producer chose is the idempotency key itself. Keys with a space are known to this queue only: HTTP refuses them.
 */
function idempotencyKeyOf({ id, timestamp, attemptsMade }: JobFacts): string {
  const isChosen = !COUNTED_ID.test(id) && IDEMPOTENCY_KEY.test(id);
  const name = isChosen
    ? id
    : `job ${COUNTED_ID.test(id) ? `${id} ${timestamp}` : hash('sha256', id, 'hex')}`;
  return attemptsMade === 0 ? name : `${name} retry ${attemptsMade}`;
}

/** The context that the telemetry of BullMQ sends with a job: a carrier as JSON. */
function traceparentOf({ telemetry }: JobFacts['opts']): string | undefined {
  const { metadata } = Object(telemetry) as { metadata?: unknown };
  if (typeof metadata !== 'string') return undefined;
  if (isTraceparent(metadata)) return metadata;
  try {
    const { traceparent } = Object(JSON.parse(metadata)) as { traceparent?: unknown };
    return isTraceparent(traceparent) ? traceparent : undefined;
  } catch {
    return undefined;
  }
}

interface MappedOptions {
  readonly retries: object;
  readonly priority: object;
  readonly errors: FieldError[];
}

const LONGEST_BACKOFF_MS = 2_147_483_647;

/** The options of the job as fields of a directive. */
function optionsOf({ opts, priority }: JobFacts): MappedOptions {
  const { attempts = 1, backoff } = opts;
  const isCount = Number.isSafeInteger(attempts) && (attempts as number) >= 0;
  const wait = backoff === undefined || backoff === null ? { fields: {}, errors: [] } : backoffOf(backoff);
  return {
    retries: { max_retries: isCount ? Math.max(0, (attempts as number) - 1) : 0, ...wait.fields },
    priority: priorityOf(priority),
    errors: [
      ...(isCount ? [] : [{ path: 'opts.attempts', message: 'must be a whole number from 0' }]),
      ...wait.errors,
    ],
  };
}

function backoffOf(backoff: unknown): { fields: object; errors: FieldError[] } {
  const given = typeof backoff === 'number' ? { type: 'fixed', delay: backoff } : backoff;
  const { type, delay = 0, jitter = 0 } = Object(given) as Record<string, unknown>;
  const errors = [
    ...(type === 'fixed' || type === 'exponential'
      ? []
      : [{ path: 'opts.backoff.type', message: 'must be fixed or exponential' }]),
    ...(isWithin(delay, LONGEST_BACKOFF_MS) && Number.isInteger(delay)
      ? []
      : [
          {
            path: 'opts.backoff.delay',
            message: `must be whole milliseconds from 0 to ${LONGEST_BACKOFF_MS}`,
          },
        ]),
    ...(isWithin(jitter, 1)
      ? []
      : [{ path: 'opts.backoff.jitter', message: 'must be a number from 0 to 1' }]),
  ];
  // BullMQ has no cap of its own: the deadline of the directive is one.
  const fields = { backoff: type, retry_backoff_ms: delay, max_backoff_ms: LONGEST_BACKOFF_MS, jitter };
  return { fields, errors };
}

function isWithin(value: unknown, most: number): boolean {
  return typeof value === 'number' && value >= 0 && value <= most;
}

/** In BullMQ jobs without a priority go first, then 1, 2, …; a directive without one has 4, and a higher one goes first. */
const DIRECTIVE_PRIORITY_OF_NONE = 4;

function priorityOf(priority: number): object {
  return priority > 0 ? { priority: Math.max(0, DIRECTIVE_PRIORITY_OF_NONE - priority) } : {};
}
