// Files of recorded cases: written whole, read within bounds.
// Never takes a file that is too large, malformed or incomplete for a case.
import { readFileSync, statSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type * as z from 'zod';
import { CaseFault, caseLineSchema, caseLines, caseOf, type RecordedCase } from '../../contract/case/case.ts';
import { fieldErrors } from '../../contract/json/field-error.ts';
import { findJsonHazard } from '../../contract/json/json-guard.ts';
import { archiveLineSchema } from '../../contract/request/archive.ts';
import { recordArchive } from '../../features/cases/record.ts';

/** Largest file of a case, in bytes: 64 MiB. */
export const LARGEST_CASE_BYTES = 67_108_864;
const MOST_LINES = 20_000;
const DEEPEST = 512;

/** `line`: from 1; null: the file as a whole. */
function notACase(file: string, line: number | null, why: string): CaseFault {
  return new CaseFault(`${file}${line === null ? '' : `:${line}`} is not a recorded case: ${why}`);
}

/**
 * Text of a case: lines of JSON, each with its line end.
 * @throws `CaseFault` where the case is larger than 64 MiB.
 */
export function caseText(recorded: RecordedCase): string {
  const text = caseLines(recorded)
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('');
  if (Buffer.byteLength(text) > LARGEST_CASE_BYTES)
    throw new CaseFault(
      `the case of "${recorded.head.request_id}" is larger than ${LARGEST_CASE_BYTES} bytes`,
    );
  return text;
}

/**
 * Reads a recorded case.
 * @throws `CaseFault` with the line, where the file is no case.
 */
export function readCase(file: string): RecordedCase {
  return parseCase(textOf(file), file);
}

/**
 * Reads a recorded case, or an archived request as it is stored (also compressed) or as `adjutant get --archive --json` prints it.
 * @throws `CaseFault` where the file is neither.
 */
export async function readCaseOrArchive(file: string): Promise<RecordedCase> {
  const text = textOf(file);
  if (!text.startsWith('{"kind":"request"')) return parseCase(text, file);
  const lines = linesOf(text, file).map((each, at) =>
    lineOf(archiveLineSchema, each, { file, line: at + 1 }),
  );
  return recordArchive(lines);
}

function textOf(file: string): string {
  const { size } = statSync(file);
  if (size > LARGEST_CASE_BYTES)
    throw notACase(file, null, `it has ${size} bytes, at most ${LARGEST_CASE_BYTES}`);
  const bytes = readFileSync(file);
  const isCompressed = bytes[0] === 0x1f && bytes[1] === 0x8b;
  if (!isCompressed) return bytes.toString();
  try {
    return gunzipSync(bytes, { maxOutputLength: LARGEST_CASE_BYTES }).toString();
  } catch (error) {
    throw notACase(file, null, `it cannot be unpacked: ${(error as Error).message}`);
  }
}

function linesOf(text: string, file: string): string[] {
  const texts = text.split('\n', MOST_LINES + 2);
  if (texts.at(-1) === '') texts.pop();
  if (texts.length > MOST_LINES) throw notACase(file, null, `it has more than ${MOST_LINES} lines`);
  return texts;
}

/** Reads the text of a case. Throws `CaseFault`. */
export function parseCase(text: string, file: string): RecordedCase {
  const lines = linesOf(text, file).map((each, at) => lineOf(caseLineSchema, each, { file, line: at + 1 }));
  try {
    return caseOf(lines);
  } catch (error) {
    throw notACase(file, null, (error as Error).message);
  }
}

function lineOf<T>(
  schema: z.ZodType<T>,
  text: string,
  { file, line }: { readonly file: string; readonly line: number },
): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw notACase(file, line, 'the line is not JSON');
  }
  const hazard = findJsonHazard(value, { maxDepth: DEEPEST });
  if (hazard !== null) throw notACase(file, line, `${hazard.path} ${hazard.message}`);
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [first] = fieldErrors(parsed.error);
  throw notACase(file, line, `${first?.path ?? ''} ${first?.message ?? 'is invalid'}`.trim());
}
