/** A page that follows a run, and the backend of it: the key of the service stays here, and the browser gets a token for one run.
 *  Usage: npm run build; ADJUTANT_API_KEY=adj_… node_modules/.bin/node examples/browser/serve.ts; then open http://127.0.0.1:8080/?run=<id of a run>. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface PageOptions {
  /** Address of the service, as browsers reach it. */
  readonly baseUrl: string;
  /** A key with the scope `read`. */
  readonly apiKey: string;
  readonly port: number;
  /** Path of the client for browsers, `dist/client.js` of @adjutant/client. */
  readonly client: string;
}

/** The client and what it imports. */
export const CLIENT_FILE = /^\/(?:client|shared\d*)\.js$/;

/** Resolves when it listens. */
export async function servePage({ baseUrl, apiKey, port, client }: PageOptions) {
  async function tokenFor(run: string): Promise<string> {
    // An application asks here whether its user may read the run.
    const response = await fetch(`${baseUrl}/v1/requests/${encodeURIComponent(run)}/token`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ lasts_ms: 600_000 }),
    });
    if (!response.ok)
      throw new Error(`the service gives no token: ${response.status} ${await response.text()}`);
    return ((await response.json()) as { token: string }).token;
  }

  async function answer(path: string, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(path, 'http://page');
    if (pathname === '/token') {
      const body = { baseUrl, token: await tokenFor(searchParams.get('run') ?? '') };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    } else if (CLIENT_FILE.test(pathname)) {
      const file = pathname === '/client.js' ? client : join(dirname(client), pathname);
      response.setHeader('content-type', 'text/javascript').end(await readFile(file));
    } else if (pathname === '/') {
      const page = await readFile(new URL('page.html', import.meta.url));
      response.setHeader('content-type', 'text/html').end(page);
    } else response.writeHead(404).end();
  }

  const server = createServer((request, response) => {
    answer(request.url ?? '/', response).catch((error: Error) => {
      console.error(error.message);
      response.writeHead(502).end();
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

if (import.meta.main) {
  const {
    ADJUTANT_URL: baseUrl = 'http://127.0.0.1:7420',
    ADJUTANT_API_KEY: apiKey = '',
    PORT = '8080',
  } = process.env;
  const client = fileURLToPath(new URL('../../client/dist/client.js', import.meta.url));
  await servePage({ baseUrl, apiKey, port: Number(PORT), client });
  console.log(`open http://127.0.0.1:${PORT}/?run=<id of a run>`);
}
