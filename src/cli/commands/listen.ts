/** `adjutant listen`: passes ends on to a program on this machine, signed as webhooks are, while that program is developed.
 *  It must never promise a delivery: what happens while it does not run, or what its receiver refuses, is not passed on. */
import { hash, randomBytes } from 'node:crypto';
import { DirectiveRefused, ServiceUnavailable } from '../../contract/problem.ts';
import type { EndEvent } from '../../contract/signal/webhook-event.ts';
import { isWebhookSecret, SECRET_FORM } from '../../contract/signal/webhook.ts';
import { pause } from '../../platform/lifecycle.ts';
import { post } from '../../features/webhooks/post.ts';
import { messageHeaders } from '../../features/webhooks/signature.ts';
import { createEndWatch, type EndWatch } from '../end-watch.ts';
import { EXIT, type ExitCode, usage } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { oneLine } from '../terminal.ts';

interface ListenOptions {
  /** Where events are posted. */
  readonly forward: string;
  /** Only this request's, until it is closed. Default: those of all requests. */
  readonly request?: string;
  /** Default: a new one, which is printed. */
  readonly secret?: string;
}

const LOOK_EVERY_MS = 1_000;
const TIMEOUT_MS = 15_000;
const LONGEST_REASON = 200;
/** As a receiver of 24 bytes or more accepts it. */
const KEY_BYTES = 32;
/** Characters of a message id, as the service makes it. */
const ID_CHARACTERS = 32;

export function addListen({ program, withClient }: CommandLine): void {
  program
    .command('listen')
    .description('forward webhooks to a program on this machine, signed, until interrupted')
    .requiredOption('--forward <url>', 'where they are posted, as in http://localhost:3000/hook')
    .option('--request <id>', 'only those of this request, also earlier ones, until it is closed')
    .option('--secret <whsec>', 'signs them; default: a new one, which is printed')
    .action(async (given: ListenOptions) => withClient(async (invocation) => listen(invocation, given)));
}

export async function listen(invocation: Invocation, options: ListenOptions): Promise<ExitCode> {
  const { terminal, interrupt } = invocation;
  requireUrl(options.forward);
  requireSecret(options.secret);
  const secret = options.secret ?? `whsec_${randomBytes(KEY_BYTES).toString('base64')}`;
  const watch = createEndWatch(invocation.client, options.request);
  await watch.begin();
  terminal.err(`forwards ends to ${options.forward}, signed with ${secret}`);
  if (options.request !== undefined) await sayIfAbsent(invocation, options.request);
  await forwardAll(invocation, watch, { url: options.forward, secret });
  return interrupt.aborted ? EXIT.interrupted : EXIT.done;
}

/** A misspelt id would wait for ever without a word. */
async function sayIfAbsent({ client, terminal }: Invocation, requestId: string): Promise<void> {
  const found = await whileReached(async () => ({ view: await client.request(requestId) }));
  if (found?.view === null)
    terminal.err(`there is no request "${oneLine(requestId, 200)}" yet: waiting for it`);
}

interface Local {
  readonly url: string;
  readonly secret: string;
}

/** Until an interrupt, or the end of the request that is watched. */
async function forwardAll({ terminal, json, interrupt }: Invocation, watch: EndWatch, to: Local) {
  let isAway = false;
  while (!interrupt.aborted && !watch.isOver()) {
    const found = await whileReached(async () => watch.look());
    if (found === null && !isAway) terminal.err('the service is out of reach; trying again');
    isAway = found === null;
    for (const event of found ?? []) {
      const line = await forward(event, to, interrupt);
      if (interrupt.aborted) return;
      terminal.out(json ? JSON.stringify({ ...line, event }) : lineOf(event, line));
    }
    if (!watch.isOver()) await pause(LOOK_EVERY_MS, interrupt);
  }
}

/** null: the service does not answer now. */
async function whileReached<T>(look: () => Promise<T>): Promise<T | null> {
  try {
    return await look();
  } catch (error) {
    const isBusy = error instanceof DirectiveRefused && error.problem.status >= 429;
    if (error instanceof ServiceUnavailable || isBusy) return null;
    throw error;
  }
}

interface Forwarded {
  readonly webhook_id: string;
  /** null: the receiver did not answer. */
  readonly status: number | null;
  readonly reason?: string;
}

async function forward(event: EndEvent, { url, secret }: Local, signal: AbortSignal): Promise<Forwarded> {
  const webhook_id = `msg_${hash('sha256', nameOf(event), 'hex').slice(0, ID_CHARACTERS)}`;
  const body = JSON.stringify(event);
  const { traceparent } = event.data;
  const message = { id: webhook_id, body, at: new Date(), traceparent, userAgent: 'adjutant-listen' };
  const headers = messageHeaders([secret], message);
  try {
    const reply = await post({ url, headers, body, timeoutMs: TIMEOUT_MS, privateAddresses: true, signal });
    return { webhook_id, status: reply.status };
  } catch (error) {
    const { code, message } = Object(error) as { code?: unknown; message?: unknown };
    return { webhook_id, status: null, reason: oneLine(String(code ?? message), LONGEST_REASON) };
  }
}

function nameOf({ data }: EndEvent): string {
  return `${data.request_id}/${'id' in data ? data.id : '@run'}`;
}

function lineOf(event: EndEvent, { status, reason }: Forwarded): string {
  const { data, timestamp } = event;
  const what = 'id' in data ? `${data.request_id}/${data.id}` : `${data.request_id} (${data.agent})`;
  const answer = status === null ? `not delivered: ${reason}` : `${status}`;
  return oneLine(`${timestamp.slice(11, 19)} ${event.type} ${what} ${data.status} → ${answer}`);
}

function requireUrl(text: string): void {
  const isHttp = URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
  if (!isHttp) throw usage(`"${oneLine(text, 80)}" is no URL.`, 'Give --forward http://localhost:3000/hook');
}

function requireSecret(secret: string | undefined): void {
  if (secret === undefined || isWebhookSecret(secret)) return;
  const how = 'Leave --secret out to get one, or make one: echo whsec_$(openssl rand -base64 32)';
  throw usage(`--secret must be ${SECRET_FORM}.`, how);
}
