// The needs of a tool before it continues: answers of people, a model; and the outcome where its server may not have
// them. A tool never asks without end.
import { type ErrorEnvelope, errorEnvelope } from '../../contract/error-envelope.ts';
import { errorResult, okResult } from '../../contract/result.ts';
import { QUESTION_LIMITS } from '../../contract/tool/tool-question.ts';
import type { ToolCallOutcome } from '../../mcp/tools/tool-call.ts';
import type { Execution } from './definition.ts';

interface Place {
  readonly server: string;
  readonly endpoint: string;
  /** Time that a question waits for an answer, milliseconds; null: no person answers. */
  readonly questionMs: number | null;
  /** null: no model answers. */
  readonly sampling: object | null;
}

/** Error code of a modern server that needs more capabilities than the client has. */
const CAPABILITY_MISSING = -32_021;

/** The error with the setting that would have helped. */
export function withFix(error: ErrorEnvelope, place: Place): ErrorEnvelope {
  const fix = fixOf(error.details, place);
  return fix === null ? error : { ...error, details: { ...error.details, fix } };
}

function fixOf(
  { code, data, wants }: ErrorEnvelope['details'],
  { server, questionMs, sampling }: Place,
): string | null {
  const isLacking = code === CAPABILITY_MISSING;
  const lacking = (isLacking ? Object(Object(data).requiredCapabilities) : {}) as object;
  if (wants === 'sampling' || Object.hasOwn(lacking, 'sampling'))
    return sampling === null ? allowSampling(server) : null;
  return isLacking && questionMs === null ? allowQuestions(server) : null;
}

function allowSampling(server: string): string {
  return `set "sampling" of the MCP server "${server}", so that a model can answer its tools`;
}

function allowQuestions(server: string): string {
  return `set "questions" of the MCP server "${server}" to true, so that people can answer its tools`;
}

/** The end of an attempt whose tool asks. `rounds`: how often it has asked before. */
export function asking(
  { questions, state, given }: Extract<ToolCallOutcome, { kind: 'asks' }>,
  { server, questionMs: patienceMs, endpoint }: Place,
  { afresh, rounds }: { afresh: boolean; rounds: number },
): Execution {
  if (patienceMs === null) {
    const message = 'The tool asks a person, and the questions of its MCP server are off';
    const fix = allowQuestions(server);
    return { result: errorResult(errorEnvelope('executor', message, { server, fix })) };
  }
  if (rounds >= QUESTION_LIMITS.rounds) {
    const message = `The tool has asked ${rounds} times, and asks again`;
    return { result: errorResult(errorEnvelope('executor', message, { server, rounds })) };
  }
  const others = given === undefined ? {} : { given };
  return { result: okResult(null), asks: { questions, state, endpoint, patienceMs, afresh, ...others } };
}
