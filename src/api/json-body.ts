/** Reads a request body as JSON: strict UTF-8, parsed exactly once.
 *  It must never check the content: the reader of the submission does, hazards included. */
import type { FastifyInstance } from 'fastify';
import { isAscii } from 'node:buffer';
import { jsonExcess } from '../bounds/json-shape.ts';
import { InexactJson, parseExactJson } from '../contract/exact-json.ts';
import { refusedAt } from '../contract/field-sentence.ts';
import { DirectiveRefused, problem } from '../contract/problem.ts';

/** Far more than any content may have. The parser takes half a second for half a million levels. */
const SHAPE = { maxDepth: 1_000, maxValues: Infinity };
/** A smaller body is parsed in a few milliseconds whatever it holds. */
const MEASURED_BYTES = 32 * 1024;

const decoder = new TextDecoder('utf-8', { fatal: true });

/** The only body parser of the service: other media types are answered with 415. */
export function acceptJsonOnly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, parseJson(body as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });
}

/** Throws `DirectiveRefused`: `invalid_body` where it is too deep to be looked at, else `invalid_json`. */
function parseJson(body: Buffer): unknown {
  const excess = body.length < MEASURED_BYTES ? null : jsonExcess(body, SHAPE);
  if (excess !== null) throw refused(`The body ${excess}.`, 'invalid_body');
  return parseText(decode(body));
}

function decode(body: Buffer): string {
  // Most bodies: read for half of what the decoder costs.
  if (isAscii(body)) return body.toString('latin1');
  try {
    return decoder.decode(body);
  } catch {
    throw refused('The body is not valid UTF-8.');
  }
}

function parseText(text: string): unknown {
  // Clients name the media type of a body that they leave out.
  if (text.trim() === '') return undefined;
  try {
    return parseExactJson(text);
  } catch (error) {
    if (error instanceof InexactJson) throw refusedAt('invalid_body', [error.fault]);
    throw refused(`The body is not valid JSON: ${(error as Error).message}`);
  }
}

function refused(message: string, code: 'invalid_json' | 'invalid_body' = 'invalid_json'): DirectiveRefused {
  return new DirectiveRefused(problem(code, { detail: message, errors: [{ path: '', message }] }));
}
