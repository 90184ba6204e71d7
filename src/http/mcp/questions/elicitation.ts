/** A question of a call as a host shows it, and what the host says, as the service takes it.
 *  It must never show a question that is cut, nor take an unclear answer for an approval. */
import * as z from 'zod';
import { type ElicitRequestFormParams, isSpecType } from '@modelcontextprotocol/server';
import { isObject } from '../../../contract/json/json-object.ts';
import type { ApprovalDecisionBody } from '../../../contract/run/run.ts';
import {
  inputActionSchema,
  type InputAnswerBody,
  QUESTION_LIMITS,
} from '../../../contract/tool/tool-question.ts';
import type { ApprovalQuestion, CallQuestion } from '../calls/call-questions.ts';
import type { Host } from '../host.ts';
import type { Place } from '../calls/tool-answer.ts';

/** A form of `elicitation/create`. */
export type Elicitation =
  | ElicitRequestFormParams
  | { readonly mode: 'url'; readonly message: string; readonly url: string };

export interface Showing {
  readonly host: Host;
  /** The whole name of the tool that the host has called; null: an agent, whose questions name their tools. */
  readonly tool: string | null;
  /** Why its last answer to this question was refused. */
  readonly fault?: string | undefined;
}

/** The tool of `Showing` for the call of `name`. */
export function calledTool({ id }: Place, name: string): string | null {
  return id === '' ? null : name;
}

const MAX_FAULT_CHARACTERS = 500;
const MAX_REASON_CHARACTERS = 1_000;

/** null: this host cannot show it. */
export function elicitationOf(question: CallQuestion, { host, tool, fault }: Showing): Elicitation | null {
  const refused =
    fault === undefined
      ? ''
      : `The last answer was refused: ${plainText(fault.slice(0, MAX_FAULT_CHARACTERS))}\n\n`;
  if (question.kind === 'approval') return host.showsForms ? approvalForm(question, refused) : null;
  // Also where the host knows what it has called: no server can write as if it were Adjutant.
  const asks = `${plainName(tool ?? question.toolName)} asks: `;
  const message = `${refused}${asks}${plainText(question.question.message)}`;
  if (question.question.mode === 'url')
    return host.opensUrls ? { mode: 'url', message, url: question.question.url } : null;
  const form = { mode: 'form', message, requestedSchema: plainSchema(question.question.schema) };
  return host.showsForms && isSpecType.ElicitRequestFormParams(form) ? form : null;
}

const DECISION = {
  type: 'string',
  title: 'Decision',
  oneOf: [
    { const: 'approve', title: 'Approve' },
    { const: 'deny', title: 'Deny' },
  ],
} as const;
const REASON = {
  type: 'string',
  title: 'Reason',
  description: 'The agent reads it.',
  maxLength: MAX_REASON_CHARACTERS,
} as const;

/** A person cannot approve what is not shown: a question that is too large is decided elsewhere. */
function approvalForm(question: ApprovalQuestion, refused: string): Elicitation | null {
  const said = approvalText(question);
  if (said.length > QUESTION_LIMITS.messageCharacters) return null;
  return {
    mode: 'form',
    message: `${refused}${said}`,
    requestedSchema: {
      type: 'object',
      properties: { decision: DECISION, reason: REASON },
      required: ['decision'],
    },
  };
}

function approvalText({ isBudget, toolName, reason, arguments: args = {} }: ApprovalQuestion): string {
  const name = plainName(toolName);
  if (isBudget) return `${reason === '' ? name : plainText(reason)}. Approve more budget?`;
  const why = reason === '' ? '' : `\n\n${plainText(reason)}`;
  return `The agent wants to call ${name} with ${plainJson(args)}${why}\n\nApprove this call?`;
}

export type HostAnswer =
  | { readonly kind: 'input'; readonly body: InputAnswerBody }
  | { readonly kind: 'decision'; readonly body: ApprovalDecisionBody }
  /** The person put it aside: another one may decide. */
  | { readonly kind: 'passed' }
  | { readonly kind: 'unfit'; readonly why: string };

const resultSchema = z.looseObject({
  action: inputActionSchema,
  content: z.record(z.string(), z.unknown()).nullish(),
});
const decisionSchema = z.looseObject({
  decision: z.enum(['approve', 'deny']),
  reason: z.string().max(MAX_REASON_CHARACTERS).optional(),
});

/** `result`: of `elicitation/create`. A refused approval is a denial; one that is cancelled stays open. */
export function readAnswer(kind: CallQuestion['kind'], by: string, result: unknown): HostAnswer {
  const read = resultSchema.safeParse(result);
  if (!read.success) return { kind: 'unfit', why: 'it has no action that is accept, decline or cancel' };
  const { action, content } = read.data;
  if (kind === 'input') {
    const given = action === 'accept' && content ? { content } : {};
    return { kind: 'input', body: { action, ...given, by } };
  }
  if (action === 'cancel') return { kind: 'passed' };
  if (action === 'decline') return { kind: 'decision', body: { decision: 'deny', by } };
  const decided = decisionSchema.safeParse(content);
  if (!decided.success)
    return {
      kind: 'unfit',
      why: `decision is approve or deny, reason at most ${MAX_REASON_CHARACTERS} characters`,
    };
  const { decision, reason = '' } = decided.data;
  return { kind: 'decision', body: { decision, ...(reason === '' ? {} : { reason }), by } };
}

/** Control, format and private characters, spaces of other kinds than our own, and what is shown as nothing. */
const UNCLEAR = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/gu;
/** In prose, what can move or hide other text; spaces, emoji and joined letters are as their writer wants them. */
const DECEIVING = /(?![\n\t\u200C\u200D])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** JSON again, on one line. */
function plainJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(UNCLEAR, escaped);
}

function plainText(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll(DECEIVING, escaped);
}

/** A name before a text of foreign origin. */
function plainName(name: string): string {
  return name.replaceAll(UNCLEAR, escaped);
}

function escaped(sign: string): string {
  return sign
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}

const PROSE = new Set(['title', 'description', 'enumNames']);

/** A schema of a form with plain titles and descriptions; null: a name or a value in it, which must come back as it is, is not plain. */
function plainSchema(schema: Readonly<Record<string, unknown>>): Record<string, unknown> | null {
  const entries = Object.entries(schema).map(([key, value]) => [key, plainMember(key, value)] as const);
  const isPlain = entries.every(([key, value]) => key === plainText(key) && value !== null);
  return isPlain ? Object.fromEntries(entries.map(([key, value]) => [key, value?.is])) : null;
}

/** null: it cannot be shown. Nothing is deeper than `readQuestion` lets through. */
function plainMember(key: string, value: unknown): { readonly is: unknown } | null {
  if (typeof value === 'string') {
    const plain = plainText(value);
    return plain === value || PROSE.has(key) ? { is: plain } : null;
  }
  if (Array.isArray(value)) {
    const members = (value as unknown[]).map((each) => plainMember(key, each));
    return members.includes(null) ? null : { is: members.map((member) => member?.is) };
  }
  if (!isObject(value)) return { is: value };
  const plain = plainSchema(value);
  return plain && { is: plain };
}
