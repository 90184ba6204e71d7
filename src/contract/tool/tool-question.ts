// A question that a tool asks a person while its call is open, and the answer.
// Must never be believed: a server writes the question, so its size is bounded here and it is shown as text only.
import * as z from 'zod';
import { identifierSchema, instantSchema, jsonObjectSchema } from '../identifiers.ts';

/** Limits of the questions that a tool asks at once. */
export const QUESTION_LIMITS = {
  perRound: 8,
  /** A tool that asks again after so many rounds fails its call. */
  rounds: 5,
  messageCharacters: 8_192,
  urlCharacters: 4_096,
  schemaBytes: 32_768,
  properties: 64,
  /** State that the server gets back with the answers. */
  stateBytes: 65_536,
  /** An answer as JSON. */
  contentBytes: 65_536,
} as const;

const questionFields = {
  input_id: z
    .string()
    .min(1)
    .max(256)
    .describe('Id of the question within its request, at most 256 characters.'),
  key: z
    .string()
    .max(256)
    .optional()
    .describe('Name of the question at its server, at most 256 characters. Absent: none.'),
  mode: z
    .enum(['form', 'url'])
    .describe(
      'Form of the question. `form`: the answer is an object that satisfies `schema`. `url`: the person opens `url`, and the answer confirms it.',
    ),
  message: z
    .string()
    .max(QUESTION_LIMITS.messageCharacters)
    .describe('Question to the person, at most 8,192 characters. Untrusted text of the server.'),
  schema: jsonObjectSchema.optional().describe('JSON Schema of the answer, for `form`.'),
  url: z
    .string()
    .max(QUESTION_LIMITS.urlCharacters)
    .optional()
    .describe(
      'Address for the person to open, at most 4,096 characters, for `url`. The service never fetches it.',
    ),
  deadline_at: instantSchema.describe('Instant (UTC) at which the question is declined without an answer.'),
};

/** As views and signals show it. */
export const openInputSchema = z.object(questionFields);

/** Schema of the action that answers a question. */
export const inputActionSchema = z.enum(['accept', 'decline', 'cancel']);

/** Schema of the cause of a question's end: an answer, the deadline, or a withdrawal by the tool. */
export const inputCauseSchema = z.enum(['answer', 'deadline', 'withdrawn']);

/** Who answers or decides, as the caller says. */
export const answeredBySchema = z
  .string()
  .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]{1,128}$/u, '1 to 128 characters, no control characters');

/** Schema of the answer to a tool's question. */
export const inputAnswerBodySchema = z
  .strictObject({
    action: inputActionSchema.describe('Answer of the person: `accept`, `decline` or `cancel`.'),
    content: jsonObjectSchema
      .optional()
      .describe(
        "Content of an accepted form, which satisfies its schema; absent members get the schema's defaults.",
      ),
    by: answeredBySchema
      .optional()
      .describe(
        "Name of the answering person as the caller states it. Default: the name of the caller's key, where keys are required.",
      ),
  })
  .refine(({ action, content }) => action === 'accept' || content === undefined, {
    path: ['content'],
    message: 'goes with the action accept only',
  });

/** Schema of the recorded answer. */
export const recordedAnswerSchema = z.object({
  request_id: identifierSchema.describe('Id of the request.'),
  call_id: z.string().describe('Id of the call whose tool asked.'),
  input_id: z.string().describe('Id of the question.'),
  action: inputActionSchema.describe('Action that was recorded first.'),
  by: z
    .string()
    .optional()
    .describe('Name of the answering person, as the caller stated it. Absent: unknown.'),
  answered_at: instantSchema.describe('Instant (UTC) of the answer.'),
});

/** Open question of a tool. */
export type OpenInput = z.infer<typeof openInputSchema>;
/** Action that answers a question. */
export type InputAction = z.infer<typeof inputActionSchema>;
/** Cause of a question's end. */
export type InputCause = z.infer<typeof inputCauseSchema>;
/** Answer to a tool's question. */
export type InputAnswerBody = z.infer<typeof inputAnswerBodySchema>;
/** Answer that was recorded first. */
export type RecordedAnswer = z.infer<typeof recordedAnswerSchema>;

/** Question of a tool, without its id and deadline. */
export type ToolQuestion =
  | { readonly mode: 'form'; readonly message: string; readonly schema: Readonly<Record<string, unknown>> }
  | { readonly mode: 'url'; readonly message: string; readonly url: string };

/** Answer to a question. */
export interface QuestionAnswer {
  readonly action: InputAction;
  /** Reason of a denied approval. */
  readonly reason?: string;
  readonly content?: Readonly<Record<string, unknown>>;
}

/** Key of the question with which the service itself asks whether a call is approved. */
export const APPROVAL_KEY = '@approval';

/** Answer that declines a question. */
export const DECLINED: QuestionAnswer = { action: 'decline' };

/** The name of the nth question of a call. */
export function inputIdOf(callId: string, number: number): string {
  return `${callId}.${number}`;
}

const INPUT_ID = /^(?<call>.+)\.(?<number>[1-9]\d{0,5})$/s;

/** null: it is the name of no question. */
export function parseInputId(inputId: string): { callId: string; number: number } | null {
  const { call, number } = INPUT_ID.exec(inputId)?.groups ?? {};
  return call === undefined || number === undefined ? null : { callId: call, number: Number(number) };
}

/** `content` with the defaults of the schema for what it leaves out. */
export function withDefaults(
  schema: Readonly<Record<string, unknown>>,
  content: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const { properties } = schema;
  const defaults = Object.entries(Object(properties) as Record<string, unknown>).flatMap(
    ([name, property]) => {
      const described: unknown = property;
      if (typeof described !== 'object' || described === null || !Object.hasOwn(described, 'default'))
        return [];
      return [[name, (described as { default: unknown }).default] as const];
    },
  );
  return { ...Object.fromEntries(defaults), ...content };
}
