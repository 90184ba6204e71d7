// Answers a question that a tool asks, on behalf of a caller, and wakes what waits for it.
// Must never accept an answer that does not fit what was asked, nor two answers to one question.
import { type LimitsOfTenant, NO_TENANT_LIMITS, requestBytesOf } from '../contract/access/tenant-limits.ts';
import { ownId, tenantField, tenantOf } from '../contract/access/tenant.ts';
import { refusedAt } from '../contract/json/field-error.ts';
import type { Spender } from '../contract/model/budget.ts';
import { readBody } from '../contract/json/read-input.ts';
import { DirectiveRefused, type FieldError, problem, type ProblemCode } from '../contract/problem.ts';
import {
  type InputAnswerBody,
  inputAnswerBodySchema,
  parseInputId,
  QUESTION_LIMITS,
  type QuestionAnswer,
  type RecordedAnswer,
  type ToolQuestion,
  withDefaults,
} from '../contract/tool/tool-question.ts';
import { contentDigest } from '../store/request/content-digest.ts';
import { ticketIn } from '../queue/flow/ticket.ts';
import { decodeEnvelope, type Envelope, isSameCaller } from '../store/request/envelope.ts';
import type { Journal } from '../store/request/journal.ts';
import { type AnswerVerdict, isOwn } from '../store/request/questions.ts';
import type { RunJournal } from '../store/run/run-journal.ts';
import type { DirectiveRecord } from '../store/request/records.ts';
import { draftSignal } from '../store/log/signal-draft.ts';
import type { SweepIndex } from '../store/index/sweep-index.ts';
import { directiveMetadata } from '../store/log/terminal-signal.ts';
import { NO_SPANS, type Spans } from '../platform/telemetry/traces/spans.ts';
import { whileAvailable } from '../platform/redis/unavailable.ts';
import { instant } from '../queue/instant.ts';
import { jobOfRecord } from '../queue/job.ts';
import type { GatedLanes } from '../queue/gated-lanes.ts';
import type { Lanes } from '../queue/lanes.ts';
import type { Directive } from '../contract/directive/directive.ts';
import { ATTRIBUTE } from '../platform/telemetry/traces/semantic-names.ts';
import { placeUnder } from '../platform/telemetry/traces/span-place.ts';
import { requestFull } from './read/not-found.ts';

/** Faults of content for an untrusted schema; empty: none that can be checked. */
export type CheckContent = (
  schema: Readonly<Record<string, unknown>>,
  content: unknown,
  tenant: string,
) => Promise<readonly FieldError[]>;

export interface AnswererParts {
  journal: Journal;
  index: Pick<SweepIndex, 'announce'>;
  lanes: Pick<Lanes, 'requeue'>;
  gated: Pick<GatedLanes, 'enter'>;
  /** Option of `JournalOptions`. */
  requestBytes: number;
  /** Default: all tenants have the same. */
  limitsOf?: LimitsOfTenant;
  checkContent: CheckContent;
  /** The caller that answers, if it is known. Default: it is not. */
  caller?: (() => Spender | undefined) | undefined;
  /** Callers that have told the run of a request what to do. */
  runs: Pick<RunJournal, 'noteSteering' | 'hasSteered'>;
  /** Default: nothing is traced. */
  spans?: Spans;
}

/** After this time the sweeper enqueues what this process may have died before it enqueued, milliseconds. */
const LOOK_AFTER_MS = 1_000;

interface Place {
  requestId: string;
  inputId: string;
  id: string;
  number: number;
}

export function createAnswerer(parts: AnswererParts) {
  const { journal, index, lanes, gated, checkContent, spans = NO_SPANS, limitsOf = NO_TENANT_LIMITS } = parts;

  async function answer(
    requestId: string,
    inputId: string,
    body: unknown,
    reason?: string,
  ): Promise<RecordedAnswer> {
    const given = { ...readAnswer(body), ...(reason === undefined ? {} : { reason }) };
    const named = parseInputId(inputId);
    if (named === null) throw unknownInput(requestId, inputId);
    const place = { requestId, inputId, id: named.callId, number: named.number };
    return whileAvailable(() => record(place, given));
  }

  async function record(
    place: Place,
    body: InputAnswerBody & Pick<QuestionAnswer, 'reason'>,
  ): Promise<RecordedAnswer> {
    const { requestId, inputId, id, number } = place;
    const begunAt = spans.now();
    const [directive, json] = await Promise.all([
      journal.directive(requestId, id),
      journal.envelope(requestId, id),
    ]);
    if (!directive || json === null) throw unknownInput(requestId, inputId);
    const envelope = decodeEnvelope(json);
    const open = await openQuestion(place, directive);
    const question = open?.question ?? null;
    if (open?.approver === 'other' && body.action === 'accept') await requireOther(requestId, envelope);
    if (open && isReadByRun(open, body)) await noteSteering(requestId, envelope);
    const content = question === null ? body.content : await contentFor(question, body, tenantOf(requestId));
    const { reason } = body;
    const said = reason === undefined ? {} : { reason };
    const answer: QuestionAnswer = {
      action: body.action,
      ...said,
      ...(content === undefined ? {} : { content }),
    };
    const digest = contentDigest({ action: body.action, content: body.content ?? null, ...said });
    const by = body.by ?? null;
    // Before the answer: should this process die after it, the sweeper wakes the directive.
    await index.announce([{ requestId, id }], LOOK_AFTER_MS);
    const verdict = await journal.questions.answer(
      // What was not read as open was not checked: it counts for nothing, whatever is asked meanwhile.
      { requestId, id, number, fence: question === null ? 0 : null },
      { answer, cause: 'answer', digest, by },
      answeredSignal(envelope, place, body),
    );
    const requestBytes = requestBytesOf(limitsOf, requestId, parts.requestBytes);
    const recorded = recordedAs(verdict, { place, digest, action: body.action, by, requestBytes });
    if (verdict.kind === 'answered') reportAnswer(spans, begunAt, { ...envelope, inputId, answer: body });
    if (verdict.kind === 'answered' && verdict.open === 0) await wake(directive, envelope);
    return recorded;
  }

  async function noteSteering(requestId: string, { agent }: Envelope): Promise<void> {
    const by = parts.caller?.();
    if (agent !== undefined && by !== undefined) await parts.runs.noteSteering(requestId, by);
  }

  /** A caller that is not known may be the submitter. One that has told the run what to call must not pass the call alone. */
  async function requireOther(requestId: string, { spender, actsFor, agent }: Envelope): Promise<void> {
    const by = parts.caller?.();
    if (by === undefined) throw notOther('no caller is known here');
    // @guard other-approver +1
    if ([spender, actsFor].some((each) => each && isSameCaller(each, by)))
      throw notOther('this caller has submitted it');
    if (agent !== undefined && (await parts.runs.hasSteered(requestId, by)))
      throw notOther('this caller has told the run what to do');
  }

  /** null: it is not open, as the journal says next. */
  async function openQuestion({ requestId, id, number }: Place, { asked }: DirectiveRecord) {
    if (asked === null || number < asked.first || number >= asked.first + asked.count) return null;
    const round = await journal.questions.round(requestId, id);
    const question = round?.questions[number - asked.first]?.question;
    if (round === null || question === undefined) return null;
    return { question, approver: round.approver ?? 'any', isOfTool: !isOwn(round) };
  }

  async function contentFor(question: ToolQuestion, { action, content }: InputAnswerBody, tenant: string) {
    if (action !== 'accept') return undefined;
    if (question.mode === 'url') {
      if (content === undefined) return undefined;
      throw refusedAt('invalid_body', [
        { path: 'content', message: 'is not asked for: a URL is to be opened' },
      ]);
    }
    const whole = withDefaults(question.schema, content ?? {});
    const faults = await checkContent(question.schema, whole, tenant);
    if (faults.length > 0) throw refusedAt('invalid_body', [...faults]);
    return whole;
  }

  /** A worker that holds the call finds the answer by itself. Where this fails, the sweeper does it. */
  async function wake(record: DirectiveRecord, envelope: Envelope) {
    const { lane, asked } = record;
    if (lane === null || asked?.held === true) return;
    const job = jobOfRecord(envelope, record);
    const ticket = ticketIn(envelope, lane);
    await (ticket === null ? lanes.requeue(lane, job) : gated.enter(lane, job, { ticket })).catch(() => {});
  }

  return answer;
}

/** Whether a run goes on with what the caller says: the model reads the reason of a denial. */
function isReadByRun(
  { isOfTool }: { readonly isOfTool: boolean },
  { action, reason }: Pick<QuestionAnswer, 'action' | 'reason'>,
): boolean {
  return isOfTool || (action !== 'accept' && reason !== undefined);
}

function notOther(why: string): DirectiveRefused {
  return refusal(
    'forbidden',
    `The rule of the policy wants another approver of the call than its submitter, and ${why}. It may be denied.`,
  );
}

function readAnswer(body: unknown): InputAnswerBody {
  const read = readBody(inputAnswerBodySchema, body);
  const { contentBytes } = QUESTION_LIMITS;
  if (Buffer.byteLength(JSON.stringify(read.content ?? null)) > contentBytes)
    throw refusedAt('invalid_body', [{ path: 'content', message: `is larger than ${contentBytes} bytes` }]);
  return read;
}

function answeredSignal({ directive, traceparent }: Envelope, place: Place, { action, by }: InputAnswerBody) {
  const { requestId, id, inputId } = place;
  const tool_name = 'tool_name' in directive ? String(directive.tool_name) : directive.type;
  const who = by === undefined ? {} : { by };
  const metadata = directiveMetadata(directive);
  const data = {
    call_id: id,
    tool_name,
    input_id: inputId,
    action,
    cause: 'answer' as const,
    ...who,
    metadata,
  };
  return draftSignal('ai.tool.input_answered', data, { requestId, causationId: id, traceparent });
}

interface Given {
  place: Place;
  digest: string;
  action: InputAnswerBody['action'];
  by: string | null;
  requestBytes: number;
}

/** Throws where another answer counts. The same answer again is the recorded one. */
function recordedAs(verdict: AnswerVerdict, given: Given): RecordedAnswer {
  const { place, action, by, requestBytes } = given;
  const { requestId, inputId, id } = place;
  const recorded = (at: number, who: string | null): RecordedAnswer => ({
    request_id: ownId(requestId),
    call_id: id,
    input_id: inputId,
    action,
    ...(who === null ? {} : { by: who }),
    answered_at: instant(at),
  });
  switch (verdict.kind) {
    case 'answered':
      return recorded(verdict.at, by);
    case 'already':
      if (verdict.cause === 'answer' && verdict.digest === given.digest && verdict.by === by)
        return recorded(verdict.at, verdict.by);
      throw refusal('already_decided', alreadyText(inputId, verdict));
    case 'no_room':
      throw requestFull(requestId, verdict.bytes, requestBytes);
    case 'over':
      throw refusal('request_closed', `the question "${inputId}" is over: its tool takes no answer any more`);
    case 'unknown':
      throw unknownInput(requestId, inputId);
  }
}

const ENDINGS = { accept: 'accepted', decline: 'declined', cancel: 'cancelled' } as const;

function alreadyText(
  inputId: string,
  { at, action, cause, by }: Extract<AnswerVerdict, { kind: 'already' }>,
) {
  const when = instant(at);
  if (cause === 'deadline') return `the question "${inputId}" was declined at ${when}: its time was up`;
  if (cause === 'withdrawn') return `the question "${inputId}" was withdrawn at ${when}`;
  return `the question "${inputId}" was ${ENDINGS[action]} at ${when}${by === null ? '' : ` by ${by}`}`;
}

function unknownInput(requestId: string, inputId: string): DirectiveRefused {
  return refusal('not_found', `no tool has asked a question "${inputId}" in request "${ownId(requestId)}"`);
}

function refusal(code: ProblemCode, detail: string): DirectiveRefused {
  return new DirectiveRefused(problem(code, { detail }));
}

interface Answered {
  readonly directive: Directive;
  /** Context of the directive, whose `send` is above the span. */
  readonly traceparent: string;
  readonly inputId: string;
  readonly answer: Pick<InputAnswerBody, 'action' | 'by'>;
}

/** Once for each answer that counts. */
function reportAnswer(spans: Spans, startedAt: number, answered: Answered): void {
  const { directive, traceparent, inputId, answer } = answered;
  const parent = spans.under(traceparent);
  if (parent === null) return;
  const { request_id, id, type } = directive;
  spans.report({
    place: placeUnder(parent, 'answer', inputId),
    name: 'answer',
    kind: 'internal',
    startedAt,
    endedAt: spans.now(),
    attributes: {
      [ATTRIBUTE.request]: ownId(request_id),
      ...tenantField(request_id, ATTRIBUTE.tenant),
      [ATTRIBUTE.directive]: id,
      [ATTRIBUTE.directiveType]: type,
      [ATTRIBUTE.input]: inputId,
      [ATTRIBUTE.decision]: answer.action,
      [ATTRIBUTE.answeredBy]: answer.by,
    },
    error: null,
  });
}
