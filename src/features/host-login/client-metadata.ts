// The description of a host as the host gives it, in a registration or in a document at its own address: read within
// bounds, and reduced to what this service uses.
// Must never load a document from an address inside, nor keep a member that it does not know.
import { PUBLIC_ONLY, type Resolve, sendChecked } from '../../platform/bounds/outgoing-request.ts';
import * as z from 'zod';

const MOST_REDIRECTS = 16;
const LONGEST_URI = 1_000;
const LONGEST_NAME = 120;

const uri = z.string().max(LONGEST_URI).refine(URL.canParse, 'is not an absolute URI');

/** Unknown members are dropped: hosts send scopes, logos and contacts that nothing here needs. */
const metadataSchema = z.object({
  redirect_uris: z.array(uri).min(1).max(MOST_REDIRECTS),
  client_name: z.string().optional().catch(undefined),
  token_endpoint_auth_method: z.string().optional().catch(undefined),
  jwks_uri: uri.optional().catch(undefined),
  jwks: z
    .object({ keys: z.array(z.record(z.string(), z.unknown())).max(16) })
    .optional()
    .catch(undefined),
});

/** A sentence about the fault of a description. */
export class MetadataFault extends Error {
  override readonly name = 'MetadataFault';
}

/**
 * The metadata as the library takes it. Each host is a public client with PKCE, or one that signs with a key of its
 * own: no secret of a host is ever kept. Hosts mix loopback, https and private schemes in one registration, which only
 * a native client may have.
 */
export function hostMetadata(given: unknown): Record<string, unknown> {
  const read = metadataSchema.safeParse(given);
  if (!read.success) throw new MetadataFault(z.prettifyError(read.error).slice(0, 500));
  const { redirect_uris: redirects, client_name: name, token_endpoint_auth_method: way, ...keys } = read.data;
  const signs = way === 'private_key_jwt' && (keys.jwks !== undefined || keys.jwks_uri !== undefined);
  return {
    redirect_uris: [...new Set(redirects)],
    client_name: shownName(name ?? ''),
    application_type: 'native',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    id_token_signed_response_alg: 'ES256',
    token_endpoint_auth_method: signs ? 'private_key_jwt' : 'none',
    ...(signs && (keys.jwks === undefined ? { jwks_uri: keys.jwks_uri } : { jwks: keys.jwks })),
  };
}

/** Without characters that turn the direction of a line or hide in it: a name must not imitate another text. */
function shownName(name: string): string {
  const plain = name
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return plain.slice(0, LONGEST_NAME).toWellFormed() || 'A host without a name';
}

export interface DocumentRules {
  readonly privateAddresses: boolean;
  readonly resolve?: Resolve;
}

const MOST_BYTES = 16 * 1024;
const LONGEST_MS = 5_000;
/** A stranger names the address: the requests of this service must not harm others. */
const MOST_AT_ONCE = 8;
const PAUSE_MS = 30_000;
const MOST_PAUSED = 1_000;
const OK = 200;

/** The `fetch` of the library: for client metadata documents and keys of clients, and for nothing else. */
export function createDocumentFetch({ privateAddresses, resolve }: DocumentRules) {
  const pausedUntil = new Map<string, number>();
  let open = 0;

  async function load(url: URL): Promise<Response> {
    const signal = AbortSignal.timeout(LONGEST_MS);
    const rule = privateAddresses ? null : { ...PUBLIC_ONLY, ...(resolve && { resolve }) };
    const headers = { accept: 'application/json', 'user-agent': 'adjutant' };
    const answer = await sendChecked(url, { method: 'GET', headers, body: null, signal, rule });
    const { statusCode = 0, headers: answered } = answer;
    // A redirect is an answer like another one: it is not followed.
    if (statusCode !== OK) {
      answer.destroy();
      throw new Error(`${url.host} answered with status ${statusCode}`);
    }
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      // To leave the loop destroys the answer.
      if (bytes > MOST_BYTES) throw new Error(`${url.host} answered with more than ${MOST_BYTES} bytes`);
      chunks.push(chunk);
    }
    const cacheControl = String(answered['cache-control'] ?? '');
    return new Response(reduced(Buffer.concat(chunks), url), { headers: { 'cache-control': cacheControl } });
  }

  return async (address: string | URL): Promise<Response> => {
    const url = new URL(address);
    if (url.protocol !== 'https:') throw new Error('only https addresses are loaded');
    if ((pausedUntil.get(url.href) ?? 0) > performance.now()) throw new Error('it failed a moment ago');
    if (open >= MOST_AT_ONCE) throw new Error('too many documents are loaded at once');
    open += 1;
    try {
      return await load(url);
    } catch (error) {
      if (pausedUntil.size >= MOST_PAUSED) pausedUntil.clear();
      pausedUntil.set(url.href, performance.now() + PAUSE_MS);
      throw error;
    } finally {
      open -= 1;
    }
  };
}

/** A set of keys as it came; a client's document reduced as a registration is. */
function reduced(bytes: Buffer, url: URL): string {
  const document = JSON.parse(bytes.toString()) as unknown;
  const { keys, client_id: id } = Object(document) as { keys?: unknown; client_id?: unknown };
  if (Array.isArray(keys)) return JSON.stringify({ keys: keys.slice(0, MOST_REDIRECTS) });
  // The library compares it with the address.
  return JSON.stringify({ ...hostMetadata(document), client_id: typeof id === 'string' ? id : url.origin });
}
