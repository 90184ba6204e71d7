// A person asks about a call of unknown outcome: the inquiry is a directive of its own, and the dead letter of the call is settled by
// what it finds. Must never make the lost call, replace its terminal signal, nor trust an answer that is older than the loss.
import { ownId } from '../../contract/access/tenant.ts';
import type { Directive, ParsedDirective } from '../../contract/directive/directive.ts';
import { toolExecSchema, type ToolExec } from '../../contract/directive/work-directive.ts';
import { encryptedFields } from '../../contract/encrypted/encrypted.ts';
import { DirectiveRefused, problem, type ProblemCode } from '../../contract/problem.ts';
import type { TerminalSignal } from '../../contract/signal/signal.ts';
import type { FoundOutcome, ReconcileSettings } from '../../contract/tool/reconcile.ts';
import type { Reconciliation } from '../../contract/tool/reconciliation.ts';
import { successorId, suffixedId } from '../../directives/change/successor-id.ts';
import { unknownDirective } from '../../directives/read/not-found.ts';
import { recordedEnd } from '../../directives/read/request-reader.ts';
import type { Submitter } from '../../directives/submit.ts';
import { serverOf, toolOnServer } from '../../store/catalog/route.ts';
import type { ToolCatalog } from '../../store/catalog/tool-catalog.ts';
import type { DeadLetterIndex } from '../../store/index/dead-letter-index.ts';
import { contentDigest } from '../../store/request/content-digest.ts';
import { actorOf, decodeEnvelope, type Envelope, idempotencyKey } from '../../store/request/envelope.ts';
import type { Journal } from '../../store/request/journal.ts';
import { PayloadLost, type PayloadObjects, wholeEnvelope } from '../../store/request/large-payloads.ts';
import type { WholeResult } from '../../store/request/whole-result.ts';
import {
  compileReconcile,
  type Finding,
  type LostCall,
  readableAnswer,
  type Reconcile,
} from './reconcile.ts';

export interface ReconcilerParts {
  readonly journal: Journal;
  readonly objects: PayloadObjects;
  readonly submitter: Pick<Submitter, 'submit'>;
  readonly dead: Pick<DeadLetterIndex, 'remove'>;
  readonly catalog: Pick<ToolCatalog, 'read'>;
  /** Completes a result of which the log holds a part. */
  readonly whole: WholeResult;
  /**
   * How the outcome of a tool's call is found out. `server`: its key. null: it is not configured. Absent: this process does not know the
   * servers.
   */
  settingsOf?: ((server: string, tool: string) => Promise<ReconcileSettings | null>) | undefined;
  /** Asked before an inquiry is submitted: whether the caller may submit it. Throws the refusal. */
  readonly charge?: ((count: number) => Promise<void>) | undefined;
}

export interface Reconciler {
  /** Asks once. `ended`: waits for the end of a directive; null: it has not ended in time. */
  press(
    requestId: string,
    id: string,
    ended: (id: string) => Promise<TerminalSignal | null>,
  ): Promise<Reconciliation>;
  /** The finding about a call of unknown outcome; null: there is none. */
  found(requestId: string, id: string): Promise<FoundOutcome | null>;
}

const MOST_INQUIRIES = 64;
const INQUIRY = '.reconcile-';
const ASKED_MS = 15_000;
const DEADLINE_MS = 60_000;

interface Lost {
  readonly requestId: string;
  readonly id: string;
  readonly lane: string;
  readonly errorType: string;
  readonly endedAt: number;
  readonly envelope: Envelope;
  readonly call: LostCall;
  readonly reconcile: Reconcile;
  /** Name of the tool that is asked, `server.tool`. */
  readonly tool: string;
  readonly server: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** `acceptedAt`: milliseconds since the epoch, by the clock of Redis. */
interface Inquiry {
  readonly id: string;
  readonly acceptedAt: number;
  readonly isOpen: boolean;
}

export function createReconciler(parts: ReconcilerParts): Reconciler {
  const { journal, submitter, dead, catalog, whole, charge = async () => {} } = parts;

  async function answerOf(lost: Lost, { id, acceptedAt }: Inquiry): Promise<Finding> {
    const end = await recordedEnd(journal, lost.requestId, id);
    return end === null ? NOT_ENDED : findingIn(lost, acceptedAt, await whole(lost.requestId, end));
  }

  /** The finding of the inquiries so far, and the id of the next one, or of one that has not ended. */
  async function inquiries(lost: Lost) {
    let found: { inquiry: Inquiry; finding: Exclude<Finding, { kind: 'unknown' }> } | null = null;
    for (let count = 1; count <= MOST_INQUIRIES; count += 1) {
      const id = suffixedId(lost.id, INQUIRY + count);
      const inquiry = await inquiryAt(parts, lost, id);
      if (inquiry === null) return { found, open: null, next: id };
      if (inquiry === 'other') continue;
      if (inquiry.isOpen) return { found, open: inquiry, next: id };
      const finding = await answerOf(lost, inquiry);
      if (finding.kind !== 'unknown') found = { inquiry, finding };
      if (finding.kind === 'happened') return { found, open: null, next: null };
    }
    return { found, open: null, next: null };
  }

  async function ask(lost: Lost, id: string): Promise<void> {
    const entries = await catalog.read();
    const listed = entries.find(({ server }) => server === lost.server)?.tools;
    const effect = listed?.find(({ name }) => name === lost.tool)?.effect;
    if (effect !== 'read')
      throw refused(
        'bad_request',
        `The tool "${lost.tool}" is not asked: its repeat policy is not \`read\`.`,
      );
    await charge(1);
    const { agent, traceparent } = lost.envelope;
    const sealing = {
      ...(agent === undefined ? {} : { agent }),
      actsFor: actorOf(lost.envelope),
      inquiryOf: lost.id,
    };
    await submitter.submit([questionOf(lost, id)], { traceparent, sealing });
  }

  async function press(
    requestId: string,
    id: string,
    ended: (id: string) => Promise<TerminalSignal | null>,
  ): Promise<Reconciliation> {
    const lost = await lostCall(parts, requestId, id);
    const { found, open, next } = await inquiries(lost);
    const known = found?.finding.kind === 'happened' ? found : null;
    if (known === null && next === null)
      throw refused('bad_request', `The outcome of the call was asked for ${MOST_INQUIRIES} times.`);
    const inquiryId = known?.inquiry.id ?? open?.id ?? next ?? '';
    if (known === null && open === null) await ask(lost, inquiryId);
    if (known === null && (await ended(inquiryId)) === null) return shown(lost, inquiryId, 'pending');
    const inquiry = await inquiryAt(parts, lost, inquiryId);
    if (inquiry === null || inquiry === 'other') throw unknownDirective(requestId, inquiryId);
    const finding = await answerOf(lost, inquiry);
    // The inquiry is durable: a repeat after a crash finds it, and settles.
    if (finding.kind === 'happened') await dead.remove(lost);
    return shown(lost, inquiryId, finding);
  }

  return {
    press,
    async found(requestId, id) {
      if (parts.settingsOf === undefined) return unreadInquiry(journal, requestId, id);
      const lost = await lostCall(parts, requestId, id).catch((error: unknown) => {
        if (error instanceof DirectiveRefused) return null;
        throw error;
      });
      if (lost === null) return null;
      const { found, open } = await inquiries(lost);
      // @guard inquiry-open
      if (open !== null) return undecided(`"${open.id}" still asks whether it did`);
      // A redrive may have made the call meanwhile.
      const isMadeAgain = (await journal.directive(requestId, successorId(id))) !== null;
      return found === null || (isMadeAgain && found.finding.kind === 'not_happened') ? null : found.finding;
    },
  };
}

/** A process that does not know how an answer is read decides nothing about a call that was asked about. */
async function unreadInquiry(
  journal: Pick<Journal, 'envelope'>,
  requestId: string,
  id: string,
): Promise<FoundOutcome | null> {
  const first = suffixedId(id, INQUIRY + 1);
  const json = await journal.envelope(requestId, first);
  if (json === null || decodeEnvelope(json).inquiryOf !== id) return null;
  return undecided(`"${first}" has asked whether it did, whose answer only the API can read`);
}

function undecided(reason: string): FoundOutcome {
  return { kind: 'undecided', reason };
}

const NOT_ENDED: Finding = { kind: 'unknown', reason: 'it has not ended' };

function findingIn(lost: Lost, acceptedAt: number, end: TerminalSignal): Finding {
  if (end.type !== 'ai.tool.result') return NOT_ENDED;
  const { result } = end.data;
  if (!result.ok) return { kind: 'unknown', reason: `it failed as ${result.error.type}` };
  const finding = lost.reconcile.findingIn(readableAnswer(result.payload), lost.call);
  if (finding.kind === 'happened')
    return 'result' in finding ? finding : { ...finding, result: result.payload };
  const isSettled = acceptedAt >= lost.endedAt + lost.reconcile.settings.settleMs;
  return finding.kind === 'not_happened' && !isSettled
    ? { kind: 'unknown', reason: '"did not happen" came before settle_ms had passed' }
    : finding;
}

function shown(lost: Lost, id: string, finding: Finding | 'pending'): Reconciliation {
  const directive = { request_id: ownId(lost.requestId), id };
  const { tool } = lost;
  if (finding === 'pending')
    return { outcome: 'pending', directive, tool, reason: 'it has not answered yet' };
  if (finding.kind === 'unknown') return { outcome: 'unknown', directive, tool, reason: finding.reason };
  const result = finding.kind === 'happened' ? { result: finding.result } : {};
  return { outcome: finding.kind, directive, tool, reason: null, ...result };
}

/** Throws `DirectiveRefused` where the call cannot be asked about. */
async function lostCall(parts: ReconcilerParts, requestId: string, id: string): Promise<Lost> {
  const { journal, objects } = parts;
  const record = await journal.directive(requestId, id);
  if (record === null) throw unknownDirective(requestId, id);
  const end = await recordedEnd(journal, requestId, id);
  const error = end !== null && 'result' in end.data && !end.data.result.ok ? end.data.result.error : null;
  const isUnknown = error?.type === 'outcome_unknown' || error?.details['outcome'] === 'unknown';
  const { lane, endedAt } = record;
  const server = lane === null ? null : serverOf(lane);
  if (error === null || !isUnknown || lane === null || server === null || endedAt === null)
    throw refused('outcome_known', `The directive "${id}" is no call of a tool whose outcome is unknown.`);
  const json = await journal.envelope(requestId, id);
  if (json === null) throw unknownDirective(requestId, id);
  const envelope = await wholeEnvelope(objects, decodeEnvelope(json)).catch((error: unknown) => {
    throw error instanceof PayloadLost ? refused('not_found', error.message) : error;
  });
  const { directive } = envelope;
  const { tool, settings, args: lostArgs } = await toolOf(parts, server, directive);
  const key = idempotencyKey({ requestId, id });
  const call: LostCall = { args: lostArgs, requestId: ownId(requestId), id, idempotencyKey: key };
  const reconcile = compileReconcile(settings);
  const args = reconcile.argumentsFor(call);
  if (args === null)
    throw refused('bad_request', 'An argument of the call that the inquiry needs is absent.');
  return {
    requestId,
    id,
    lane,
    errorType: error.type,
    endedAt,
    envelope,
    call,
    reconcile,
    tool,
    server,
    args,
  };
}

async function toolOf(
  { catalog, settingsOf }: ReconcilerParts,
  server: string,
  directive: Directive,
): Promise<{ tool: string; settings: ReconcileSettings; args: LostCall['args'] }> {
  if (directive.type !== 'tool_exec' || encryptedFields(directive).some(({ field }) => field !== 'context'))
    throw refused('bad_request', 'The arguments of the call are encrypted, and only workers can read them.');
  const entries = await catalog.read();
  const names = new Set(entries.find((entry) => entry.server === server)?.tools.map(({ tool }) => tool));
  const lostTool = toolOnServer(ownId(server), directive.tool_name, (name) => names.has(name));
  if (settingsOf === undefined)
    throw refused(
      'bad_request',
      'Only the API can ask whether the call happened: this client knows no servers.',
    );
  const settings = await settingsOf(server, lostTool);
  const { arguments: args } = directive;
  if (settings !== null) return { tool: `${ownId(server)}.${settings.tool}`, settings, args };
  const detail = `The tool "${lostTool}" of the server "${ownId(server)}" has no \`reconcile\` in its \`effects\`.`;
  throw refused('bad_request', detail);
}

/** The inquiry of an id; `other`: a directive that no reconcile has submitted, or that has not asked this. null: none. */
async function inquiryAt(
  { journal, objects }: ReconcilerParts,
  lost: Lost,
  id: string,
): Promise<Inquiry | 'other' | null> {
  const record = await journal.directive(lost.requestId, id);
  if (record === null) return null;
  const { lane, acceptedAt, endedAt } = record;
  const json = await journal.envelope(lost.requestId, id);
  if (json === null || lane !== lost.lane || acceptedAt < lost.endedAt) return 'other';
  const asked = decodeEnvelope(json);
  // @guard inquiry-mark
  if (asked.inquiryOf !== lost.id) return 'other';
  const whole = await wholeEnvelope(objects, asked).catch((error: unknown) => {
    if (error instanceof PayloadLost) return null;
    throw error;
  });
  if (whole === null) return 'other';
  const { directive } = whole;
  const isSame =
    directive.type === 'tool_exec' &&
    directive.tool_name === lost.tool &&
    contentDigest(directive.arguments as object) === contentDigest(lost.args);
  return isSame ? { id, acceptedAt, isOpen: endedAt === null } : 'other';
}

function questionOf({ requestId, id: lostId, tool, args }: Lost, id: string): ParsedDirective {
  const question: ToolExec = toolExecSchema.parse({
    type: 'tool_exec',
    id,
    request_id: requestId,
    tool_name: tool,
    arguments: args,
    timeout_ms: ASKED_MS,
    deadline_ms: DEADLINE_MS,
    metadata: { reconcile_of: { request_id: ownId(requestId), id: lostId } },
  });
  return question as ParsedDirective;
}

function refused(code: ProblemCode, detail: string): DirectiveRefused {
  return new DirectiveRefused(problem(code, { detail }));
}
