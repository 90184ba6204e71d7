/** The console and the documentation as they are served, and the session of a browser: policy, caching, size, and what a cookie may do.
 *  It must not need a browser. */
import { request } from 'node:http';
import { beforeAll, describe, expect, test } from 'vitest';
import { ensureConsole, ensureDocs } from '../../../scripts/console-freshness.mjs';
import { createHttpClient } from '../../../src/client/http-client.ts';
import { csrfToken } from '../../../src/http/access/session-text.ts';
import type { AuditPage } from '../../../src/contract/access/audit.ts';
import type { SessionView } from '../../../src/contract/access/session.ts';
import { useKeyedService } from '../../support/keyed-service.ts';
import { startService } from '../../support/running-service.ts';
import { shared } from '../../support/shared.ts';

// Before the service starts: it reads the files once.
beforeAll(() => {
  for (const ensure of [ensureConsole, ensureDocs]) ensure(process.cwd(), process.execPath, process.env);
});
const { redis, service, ADMIN, adminAt, make } = useKeyedService();
const open = shared(async () => startService({ redisUrl: redis.url, roles: { api: true } }));

const MOST_FIRST_LOAD_BYTES = 200_000;

async function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${service.url}${path}`, { headers, redirect: 'manual' });
}

/** As bytes on the wire: `fetch` would unpack them. */
async function wireBytes(path: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const asked = request(`${service.url}${path}`, { headers: { 'accept-encoding': 'gzip' } }, (answer) => {
    let bytes = 0;
    answer.on('data', (chunk: Buffer) => (bytes += chunk.length));
    answer.on('end', () => resolve(bytes));
  });
  asked.once('error', reject);
  asked.end();
  return promise;
}

describe('the files of the console', () => {
  test('are open to everyone, under a policy that runs nothing else', async () => {
    expect((await get('/console')).headers.get('location')).toBe('/console/');
    const page = await get('/console/requests/any?filter=x');
    expect(page.status).toBe(200);
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src blob:; font-src 'self'; " +
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    );
    expect(Object.fromEntries(page.headers)).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cache-control': 'no-cache',
    });
    expect(await page.text()).not.toMatch(/<script>|<style|style=|onload=/);
    const again = await get('/console/', { 'if-none-match': page.headers.get('etag') ?? '' });
    expect(again.status).toBe(304);
  });

  test('with a hash in their name never change; unknown ones are not found, and no path leaves the folder', async () => {
    const [asset = ''] = /\/console\/assets\/[\w.-]+\.js/.exec(await (await get('/console/')).text()) ?? [];
    const script = await get(asset, { 'accept-encoding': 'br, gzip' });
    expect(script.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(script.headers.get('content-encoding')).toBe('gzip');
    expect((await get('/console/assets/index-00000000.js')).status).toBe(404);
    for (const path of [
      '..%2f..%2fpackage.json',
      '%2e%2e/package.json',
      '__proto__',
      '.vite/manifest.json',
    ]) {
      const answer = await get(`/console/${path}`);
      expect(await answer.text(), path).not.toMatch(/"name": "adjutant"|isEntry/);
    }
    expect((await fetch(`${service.url}/console/`, { method: 'POST' })).status).toBe(404);
  });

  test('are small: the first load fits into 200 kB', async () => {
    const page = await (await get('/console/')).text();
    const first = [...page.matchAll(/(?:src|href)="(\/console\/[^"]+)"/g)].map(([, path = '']) => path);
    const styles = first.filter((path) => path.endsWith('.css'));
    const style = (await Promise.all(styles.map(async (path) => (await get(path)).text()))).join('\n');
    const fonts = [...style.matchAll(/url\(([^)]+\.woff2)\)/g)].map(([, path = '']) => path);
    expect(fonts.length).toBe(1);
    const sizes = await Promise.all(['/console/', ...first, ...fonts].map(wireBytes));
    const total = sizes.reduce((sum, bytes) => sum + bytes, 0);
    expect(total).toBeGreaterThan(50_000);
    expect(total).toBeLessThan(MOST_FIRST_LOAD_BYTES);
  });

  test('say how they are built where they are not, and everything else works', async () => {
    const { consoleRoutes } = await import('../../../src/http/routes/pages.ts');
    const { fastify } = await import('fastify');
    const app = fastify();
    consoleRoutes(app as never, null);
    const answer = await app.inject('/console/');
    expect(answer.statusCode).toBe(503);
    expect(answer.body).toContain('npm run build');
    await app.close();
  });
});

/** Links of a page of the documentation to others of it. */
function placesIn(path: string, html: string): URL[] {
  const links = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(
    ([, link = '']) => new URL(link, service.url + path),
  );
  const isPage = ({ origin, pathname }: URL): boolean =>
    origin === service.url && pathname.startsWith('/docs/') && pathname !== '/docs/api';
  return links.filter(isPage);
}

describe('the documentation', () => {
  test('is at /docs, open to everyone, under the policy of the console, and / leads to the console', async () => {
    const start = await get('/');
    expect([start.status, start.headers.get('location')]).toEqual([302, '/console/']);
    expect((await get('/docs')).headers.get('location')).toBe('/docs/');
    const [page, consolePage] = await Promise.all(['/docs/', '/console/'].map(async (path) => get(path)));
    expect(page?.status).toBe(200);
    const policyOf = (answer: Response | undefined) => answer?.headers.get('content-security-policy');
    expect(policyOf(page)).toBe(policyOf(consolePage));
    expect(await page?.text()).not.toMatch(/<script|<style|style=|onload=|<!-- not run/);
    expect((await get('/docs/no-such-page')).status).toBe(404);
    const models = await (await get('/llms.txt')).text();
    const [, first = ''] = /\]\((\/docs\/[\w-]+\.md)\): /.exec(models) ?? [];
    expect((await get(first)).status).toBe(200);
  });

  test('has a link from page to page that leads to a page and a heading of it', async () => {
    const seen = new Map<string, string>();
    const todo = ['/docs/'];
    for (let path = todo.pop(); path !== undefined; path = todo.pop()) {
      if (seen.has(path)) continue;
      const answer = await get(path);
      expect(answer.status, path).toBe(200);
      const isPage = (answer.headers.get('content-type') ?? '').startsWith('text/html');
      seen.set(path, isPage ? await answer.text() : '');
      todo.push(...placesIn(path, seen.get(path) ?? '').map(({ pathname }) => pathname));
    }
    expect(seen.size).toBeGreaterThan(40);
    const places = [...seen]
      .flatMap(([path, html]) => placesIn(path, html))
      .filter(({ hash }) => hash !== '');
    expect(places.length).toBeGreaterThan(100);
    const lost = places.filter(
      ({ pathname, hash }) => !seen.get(pathname)?.includes(`id="${hash.slice(1)}"`),
    );
    expect(lost.map(({ href }) => href)).toEqual([]);
  });
});

interface SignedIn {
  readonly cookie: string;
  readonly csrf: string;
}

const SAME = { 'sec-fetch-site': 'same-origin' };

async function signIn(key: string): Promise<SignedIn> {
  const answer = await fetch(`${service.url}/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ key }),
  });
  expect(answer.status).toBe(204);
  const header = answer.headers.get('set-cookie') ?? '';
  expect(header).toMatch(/; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/);
  const [cookie = ''] = header.split(';');
  expect(cookie).not.toContain(key);
  const view = (await (await get('/v1/session', { cookie })).json()) as SessionView;
  return { cookie, csrf: view.csrf_token ?? '' };
}

async function change(path: string, headers: Record<string, string>, method = 'POST'): Promise<number> {
  const type = method === 'POST' ? { 'content-type': 'application/json' } : {};
  const body = method === 'POST' ? { body: '{}' } : {};
  const answer = await fetch(`${service.url}${path}`, { method, headers: { ...type, ...headers }, ...body });
  await answer.body?.cancel();
  return answer.status;
}

describe('a session', () => {
  test('reads as its key does, and says whose it is', async () => {
    const { key, id } = await make({ name: 'ana', scopes: ['read', 'cancel'] });
    const { cookie, csrf } = await signIn(key);
    const view = (await (await get('/v1/session', { cookie })).json()) as SessionView;
    expect(view).toMatchObject({ state: 'signed_in', key_id: id, name: 'ana', scopes: ['read', 'cancel'] });
    expect((await get('/v1/lanes', { cookie })).status).toBe(200);
    expect((await get('/v1/keys', { cookie })).status).toBe(403);
    expect((await get('/metrics', { cookie })).status).toBe(401);
    expect(await (await get('/v1/session')).json()).toEqual({ state: 'signed_out', sign_in: { keys: true } });
    // Another of the same name that stands before it.
    const name = cookie.slice(0, cookie.indexOf('='));
    const crowd = `${name}=broken; ${name}; ${cookie}`;
    expect((await get('/v1/lanes', { cookie: crowd })).status).toBe(200);
    // Nobody has this one: it names the key alone.
    const secret = 'A'.repeat(43);
    const own = { 'x-adjutant-csrf': csrfToken({ secret }), ...SAME };
    expect(await change('/v1/session', { cookie: `${name}=${id}.${secret}`, ...own }, 'DELETE')).toBe(204);
    const token = { 'x-adjutant-csrf': csrf };
    expect(await change('/v1/session', { cookie, ...token, ...SAME }, 'DELETE')).toBe(204);
    const audit = await get('/v1/audit?log=submissions', { authorization: `Bearer ${ADMIN}` });
    const { entries } = (await audit.json()) as AuditPage;
    expect(entries.filter(({ by }) => by.id === id).map(({ action, target }) => [action, target])).toEqual([
      ['sign_out', id],
      ['sign_in', id],
    ]);
  });

  test('changes nothing for a page of another site', async () => {
    const { key } = await make();
    const { cookie, csrf } = await signIn(key);
    const other = await signIn(ADMIN);
    const path = '/v1/requests/none/cancel';
    const token = { 'x-adjutant-csrf': csrf };
    expect(await change(path, { cookie, ...token, ...SAME })).toBe(404);
    expect(await change(path, { cookie, ...token, origin: new URL(service.url).origin })).toBe(404);
    expect(await change(path, { cookie, ...SAME })).toBe(403);
    expect(await change(path, { cookie, ...SAME, 'x-adjutant-csrf': other.csrf })).toBe(403);
    expect(await change(path, { cookie, ...token })).toBe(403);
    for (const site of ['cross-site', 'same-site', 'none'])
      expect(await change(path, { cookie, ...token, 'sec-fetch-site': site }), site).toBe(403);
    expect(await change('/v1/session', { cookie }, 'DELETE')).toBe(403);
    expect((await get('/v1/lanes', { cookie })).status).toBe(200);
    expect(await change('/v1/session', { cookie, ...token, ...SAME }, 'DELETE')).toBe(204);
    expect((await get('/v1/lanes', { cookie })).status).toBe(401);
  });

  test('ends with its key, and with it the streams that it reads', async () => {
    const { key, id } = await make();
    const { cookie } = await signIn(key);
    const client = createHttpClient({ baseUrl: service.url, apiKey: ADMIN });
    const { request_id: waiting } = await client.submit({
      type: 'tool_exec',
      tool_name: 'peer.wait',
      arguments: {},
    });
    const stream = await get(`/v1/requests/${waiting}/signals`, { cookie, accept: 'text/event-stream' });
    expect(stream.status).toBe(200);
    await adminAt(service.url).revoke(id);
    await expect(stream.text()).rejects.toThrow();
    expect((await get('/v1/lanes', { cookie })).status).toBe(401);
  });

  test('is not opened by a wrong key, nor by a cookie that somebody made up', async () => {
    const { key, id } = await make();
    const { cookie } = await signIn(key);
    const [name = ''] = cookie.split('=');
    expect(await change('/v1/session', {})).toBe(400);
    for (const wrong of ['x', `${key}x`, `adj_${'0'.repeat(12)}_${'A'.repeat(43)}`]) {
      const answer = await fetch(`${service.url}/v1/session`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ key: wrong }),
      });
      expect(answer.status).toBe(401);
      expect(answer.headers.get('set-cookie')).toBe(null);
    }
    const made = [
      `${id}.${'A'.repeat(43)}`,
      `environment.${'A'.repeat(43)}`,
      '__proto__.x',
      `${id}.`,
      '%00',
      'x'.repeat(8_000),
    ];
    for (const value of made)
      expect((await get('/v1/lanes', { cookie: `${name}=${value}` })).status, value).toBe(401);
  });

  test('is one of few: the oldest of a key gives way', async () => {
    const { key } = await make();
    const first = await signIn(key);
    for (let count = 0; count < 64; count += 1) await signIn(key);
    expect((await get('/v1/lanes', { cookie: first.cookie })).status).toBe(401);
  });

  test('is not needed where nobody is asked for a key', async () => {
    expect(await (await fetch(`${open.url}/v1/session`)).json()).toEqual({ state: 'open' });
  });
});
