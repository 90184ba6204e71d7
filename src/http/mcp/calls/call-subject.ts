/** Which call a request is about: a new one, one that its client comes back to, or one that its key names again.
 *  It must never let a client go on with a call that is not its own. */
import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server';
import type { DirectiveClient } from '../../../contract/directive/directive-client.ts';
import { DirectiveRefused } from '../../../contract/problem.ts';
import type { ListedTool } from '../../../contract/tool/tool-listing.ts';
import { type AskedOnLeg, NOTHING_ASKED } from './asked-leg.ts';
import { callKeyOf, placeOf } from './call-identity.ts';
import type { HeldCall, Seals } from './held-call.ts';
import { type CallsOfRuns, runCall } from './run-call.ts';
import { RUN_HEADER } from '../../../contract/run/foreign-run.ts';
import { headerOf } from '../host.ts';
import type { Offer } from '../offered-tools.ts';
import { invalidParams, UnknownTool } from '../refusal.ts';
import type { Place } from './tool-answer.ts';
import type { AcceptedCall, AnsweringTool } from './tool-call.ts';
import { wholeName } from '../tool-names.ts';
import type { ToolSource } from '../tool-source.ts';

export type CallParams = { name: string; arguments?: Record<string, unknown> | undefined };

export interface SubjectParts {
  readonly client: DirectiveClient;
  readonly tools: ToolSource;
  readonly seals: Seals;
  /** The names of `callKeyOf`. */
  readonly keysFrom: readonly string[];
  /** null: there are no runs that other programs lead. */
  readonly runs: CallsOfRuns | null;
}

/** `offer` null: the client comes back to it. */
export interface Subject extends AcceptedCall {
  readonly name: string;
  /** The part of `HeldCall` that its client carries. */
  readonly held: Pick<HeldCall, 'tool' | 'name' | 'server'>;
  readonly offer: Offer | null;
  /** The questions to the client when it left. */
  readonly asked: AskedOnLeg;
  /** Trace of the run that it belongs to, where its client names none. Default: none. */
  readonly traceparent?: string;
  /** Whether its client only waits for it: whatever ends the wait, the call goes on. Default: false. */
  readonly isAwaited?: boolean;
  /** The answer of a call that must not be made. Default: it is made. */
  readonly answer?: CallToolResult;
}

export async function subjectOf(
  options: SubjectParts,
  params: CallParams,
  context: ServerContext,
): Promise<Subject> {
  const { tools, seals, keysFrom } = options;
  const held = await heldCall(seals, context);
  if (held !== null) return heldSubject(tools, params, held);
  const offer = await tools.find(params.name);
  const inRun = await runSubject(options, offer, params, context);
  if (inRun !== null) return inRun;
  if (offer === undefined) return repeatedSubject(options, params, context);
  return subjectAt(offer, params.name, newPlace(offer, context, keysFrom));
}

function subjectAt(offer: Offer, calledBy: string, place: Place): Subject {
  const name = wholeName(offer);
  const held = { tool: name, name: calledBy, server: offer.server };
  return { name, held, offer, place, asked: NOTHING_ASKED, tool: async () => answering(offer) };
}

/** A call of a run that was accepted goes on, or has its answer, while no server has its tool. null: it belongs to no run. */
async function runSubject(
  { client, tools, runs }: SubjectParts,
  served: Offer | undefined,
  { name, arguments: args = {} }: CallParams,
  context: ServerContext,
): Promise<Subject | null> {
  if (runs === null || headerOf(context, RUN_HEADER) === null) return null;
  const offer = served ?? tools.among(await rememberedTools(client), name);
  if (offer === undefined) throw new UnknownTool(name);
  const call = await runCall(client, runs, { offer, name, arguments: args }, context);
  if (call === null) return null;
  const subject = subjectAt(offer, name, call.place);
  if (call.kind === 'answer') return { ...subject, answer: call.answer };
  if (call.isAccepted) return { ...subject, offer: null };
  if (served === undefined) throw new UnknownTool(name);
  return { ...subject, traceparent: call.traceparent };
}

/** A call that was accepted is found by its key even while no server has its tool. */
async function repeatedSubject(
  { client, tools, keysFrom }: SubjectParts,
  { name }: CallParams,
  context: ServerContext,
): Promise<Subject> {
  if (callKeyOf(context.mcpReq._meta, keysFrom).kind === 'none') throw new UnknownTool(name);
  const offer = tools.among(await rememberedTools(client), name);
  if (offer === undefined) throw new UnknownTool(name);
  const place = newPlace(offer, context, keysFrom);
  if ((await client.directive(place.requestId, place.id)) === null) throw new UnknownTool(name);
  return subjectAt(offer, name, place);
}

async function rememberedTools(client: DirectiveClient): Promise<readonly ListedTool[]> {
  try {
    return (await client.tools({ remembered: true })).tools;
  } catch (error) {
    // An API that is older than `adjutant mcp` knows no such list.
    if (error instanceof DirectiveRefused) return [];
    throw error;
  }
}

/** A held call continues while no server has its tool, and while the catalog cannot be read. */
export async function heldSubject(tools: ToolSource, { name }: CallParams, held: HeldCall): Promise<Subject> {
  const offer = await tools.find(name).catch(() => undefined);
  if (!isNamed(held, name, offer)) throw invalidParams('The requestState belongs to a call of another tool');
  const tool = async () => answering(offer ?? (await tools.find(held.tool)));
  const { requestId, id, asked = NOTHING_ASKED } = held;
  return { name: held.tool, held, offer: null, place: { requestId, id }, asked, tool };
}

/** Whether the name is the one that its client used, which may be unknown now, or another one of its tool. */
function isNamed(held: HeldCall, name: string, offer: Offer | undefined): boolean {
  if (held.name === name) return true;
  return offer === undefined ? held.name === undefined : wholeName(offer) === held.tool;
}

function answering(offer: Offer | undefined): AnsweringTool {
  return offer === undefined || offer.server === null ? {} : offer;
}

/**
 * The call that the client has brought back; null: the call is new. Opened here: the SDK treats an absent key as a
 * wrong seal.
 */
async function heldCall(seals: Seals, context: ServerContext): Promise<HeldCall | null> {
  const sealed = context.mcpReq.requestState<string>();
  if (sealed === undefined) return null;
  const held = await seals.open(sealed, context);
  if (held === null)
    throw invalidParams('Invalid or expired requestState', { reason: 'invalid_request_state' });
  return held;
}

function newPlace(offer: Offer, { mcpReq }: ServerContext, keysFrom: readonly string[]): Place {
  const key = callKeyOf(mcpReq._meta, keysFrom);
  if (key.kind === 'invalid') throw invalidParams(key.reason);
  const isAgent = offer.server === null;
  return placeOf({ tool: wholeName(offer), key: key.kind === 'key' ? key.key : null, isAgent });
}
