/** Reads a request body as JSON: strict UTF-8, within the bounds of its route, parsed exactly once.
 *  It must never check the content: the reader of the submission does, hazards included. */
import type { FastifyInstance } from 'fastify';
import { isAscii } from 'node:buffer';
import { type JsonLimits, jsonShape } from '../platform/bounds/json-shape.ts';
import { InexactJson, parseExactJson } from '../contract/json/exact-json.ts';
import { refusedAt } from '../contract/json/field-error.ts';
import { DirectiveRefused, problem } from '../contract/problem.ts';
import { bodyBytesOf } from './route-rules.ts';

/** Far more than any content may have. The parser takes half a second for half a million levels. */
const DEEPEST = 1_024;
const DEFAULT_BYTES = 4 * 1024 * 1024;
const DEFAULT_VALUES = 20_000;

const decoder = new TextDecoder('utf-8', { fatal: true });

export interface BodyLimits {
  /** The largest body with the content of directives; other routes have smaller ones. Default: 4 MiB. */
  readonly bodyBytes?: number;
  /** Most members, elements, objects and arrays of a body together. Default: 20 000. */
  readonly bodyValues?: number;
}

/** The only body parser of the service: other media types are answered with 415. */
export function acceptJsonOnly(app: FastifyInstance, { bodyBytes, bodyValues }: BodyLimits): void {
  const limits = { maxDepth: DEEPEST, maxValues: bodyValues ?? DEFAULT_VALUES };
  app.addHook('onRoute', (route) => {
    route.bodyLimit = bodyBytesOf([route.method].flat(), route.url, bodyBytes ?? DEFAULT_BYTES);
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, parseJson(body as Buffer, limits));
    } catch (error) {
      done(error as Error);
    }
  });
}

/** Throws `DirectiveRefused`: `invalid_body` or `body_too_large` where it is too deep or has too many values, else `invalid_json`. */
function parseJson(body: Buffer, limits: JsonLimits): unknown {
  const { excess } = jsonShape(body, limits);
  if (excess !== null)
    throw refused(`The body ${excess.text}.`, excess.limit === 'depth' ? 'invalid_body' : 'body_too_large');
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

type Code = 'invalid_json' | 'invalid_body' | 'body_too_large';

function refused(message: string, code: Code = 'invalid_json'): DirectiveRefused {
  return new DirectiveRefused(problem(code, { detail: message, errors: [{ path: '', message }] }));
}
