// Files of recorded cases: written whole, read within bounds.
// Never takes a file that is too large, malformed or incomplete for a case.
import { readFileSync, statSync } from 'node:fs';
import { caseLineSchema, caseLines, caseOf, type RecordedCase } from '../../contract/case/case.ts';
import { fieldErrors } from '../../contract/json/field-error.ts';
import { findJsonHazard } from '../../contract/json/json-guard.ts';

/** Largest file of a case, in bytes: 64 MiB. */
export const LARGEST_CASE_BYTES = 67_108_864;
const MOST_LINES = 20_000;
const DEEPEST = 512;

/** A file that is no case. */
export class CaseFault extends Error {
  override readonly name = 'CaseFault';

  /** `line`: from 1; null: the file as a whole. */
  constructor(file: string, line: number | null, why: string) {
    super(`${file}${line === null ? '' : `:${line}`} is not a recorded case: ${why}`);
  }
}

/**
 * Text of a case: lines of JSON, each with its line end.
 * @throws `Error` where the case is larger than 64 MiB.
 */
export function caseText(recorded: RecordedCase): string {
  const text = caseLines(recorded).map((line) => `${JSON.stringify(line)}\n`).join('');
  if (Buffer.byteLength(text) > LARGEST_CASE_BYTES)
    throw new Error(`the case of "${recorded.head.request_id}" is larger than ${LARGEST_CASE_BYTES} bytes`);
  return text;
}

/**
 * Reads a recorded case.
 * @throws `CaseFault` with the line, where the file is no case.
 */
export function readCase(file: string): RecordedCase {
  const { size } = statSync(file);
  if (size > LARGEST_CASE_BYTES) throw new CaseFault(file, null, `it has ${size} bytes, at most ${LARGEST_CASE_BYTES}`);
  return parseCase(readFileSync(file, 'utf8'), file);
}

/** Reads the text of a case. Throws `CaseFault`. */
export function parseCase(text: string, file: string): RecordedCase {
  const texts = text.split('\n', MOST_LINES + 2);
  if (texts.at(-1) === '') texts.pop();
  if (texts.length > MOST_LINES) throw new CaseFault(file, null, `it has more than ${MOST_LINES} lines`);
  const lines = texts.map((each, at) => lineOf(each, file, at + 1));
  try {
    return caseOf(lines);
  } catch (error) {
    throw new CaseFault(file, null, (error as Error).message);
  }
}

function lineOf(text: string, file: string, line: number) {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new CaseFault(file, line, 'the line is not JSON');
  }
  const hazard = findJsonHazard(value, { maxDepth: DEEPEST });
  if (hazard !== null) throw new CaseFault(file, line, `${hazard.path} ${hazard.message}`);
  const parsed = caseLineSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [first] = fieldErrors(parsed.error);
  throw new CaseFault(file, line, `${first?.path ?? ''} ${first?.message ?? 'is invalid'}`.trim());
}
