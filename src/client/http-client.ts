/** The service over HTTP, with payloads encrypted by the client where it has a codec.
 *  Needs nothing but web standards: it runs wherever there is a fetch. */
import type { DirectiveClient } from '../contract/directive/directive-client.ts';
import type { PayloadCodec } from '../contract/encrypted/encrypted.ts';
import { encryptingClient } from '../platform/encryption/encrypted-client.ts';
import { createHttpClient as createPlainClient, type PlainClientOptions } from './plain-client.ts';

export * from './plain-client.ts';
export { createRunClient, type ForeignRunClient, type StepOptions } from './run-client.ts';
export { createAesCodec } from '../platform/encryption/aes-codec.ts';
export { PayloadUnreadable } from '../contract/encrypted/encrypted.ts';
export { decryptSignal } from '../platform/encryption/decrypted-signal.ts';

/** Options of `createHttpClient`. */
export interface HttpClientOptions extends PlainClientOptions {
  /** Codec that encrypts submissions and decrypts answers, such as that of `createAesCodec`. Default: no encryption. */
  readonly codec?: PayloadCodec;
}

/**
 * Creates a client that reaches the service over HTTP. It needs web standards only, and runs in Node and in browsers.
 * @param options Address of the service and optional settings.
 * @returns The client. Call `close` to end its streams.
 * @throws Each method throws `DirectiveRefused` with the code of the problem where the service refuses a call, and
 * `ServiceUnavailable` where the service does not answer.
 * @example
 * ```ts
 * import { createHttpClient } from 'adjutant/client';
 * const client = createHttpClient({ baseUrl: 'http://127.0.0.1:7420' });
 * const end = await client.execute({ type: 'tool_exec', tool_name: 'everything.echo', arguments: { message: 'hi' } });
 * console.log(end.type, end.data);
 * await client.close();
 * ```
 */
export function createHttpClient({ codec, ...options }: HttpClientOptions): DirectiveClient {
  const client = createPlainClient(options);
  return codec === undefined ? client : encryptingClient(client, codec);
}
