/** People log in at a real OpenID provider: who gets a session, and what is refused.
 *  It must never reach into the login: everything goes over HTTP, as a browser does it. */
import { describe, expect, test } from 'vitest';
import type { SessionView } from '../../../src/contract/access/session.ts';
import { createStranger, startOidcScene, type Stranger } from '../../support/oidc.ts';
import { shared, useRedis } from '../../support/shared.ts';

describe('a login at an issuer', () => {
  const redis = useRedis();
  const scene = shared(async () => startOidcScene(redis.url));
  const ADA = { rights: 'read adjutant:decide', company: 'acme', nickname: 'Ada L.' };
  const start = (path = '/console/requests?status=failed'): string =>
    `${scene.service.url}/console/login/oidc?return=${encodeURIComponent(path)}`;
  const viewOf = async (browser: Stranger, url = scene.service.url): Promise<SessionView> =>
    (await (await browser.get(`${url}/v1/session`)).json()) as SessionView;
  const callbackOf = async (browser: Stranger): Promise<string> =>
    browser.follow(start(), /\/console\/login\/oidc\/callback/);

  test('opens a session with the scopes, tenant and name of the claims, and goes back to the page', async () => {
    await scene.set({ claims: ADA, refuse: false });
    const browser = createStranger();
    expect(await viewOf(browser)).toEqual({
      state: 'signed_out',
      sign_in: { keys: false, oidc: { name: 'Example', path: '/console/login/oidc' } },
    });
    expect(await browser.follow(start())).toBe(`${scene.service.url}/console/requests?status=failed`);
    expect(await viewOf(browser)).toMatchObject({
      state: 'signed_in',
      key_id: 'oidc:ada',
      name: 'Ada L.',
      tenant: 'acme',
      scopes: ['read', 'decide'],
      sign_out_path: '/console/login/oidc/logout',
    });
    const own = browser.set.filter((line) => line.startsWith('adjutant_'));
    expect(own[0]).toMatch(/^adjutant_login_\d+=[\w.-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/);
    expect(own[1]).toMatch(/^adjutant_session_\d+=.+; HttpOnly; SameSite=Strict$/);
    expect(own[2]).toMatch(/^adjutant_login_\d+=; Path=\/; Max-Age=0;/);
    const end = await browser.follow(`${scene.service.url}/console/login/oidc/logout`, /session\/end/);
    expect(end).toContain(`${scene.issuer}/session/end`);
  });

  test('ends in a session whichever API gets the callback, once', async () => {
    await scene.set({ claims: ADA, refuse: false });
    const browser = createStranger();
    const callback = await callbackOf(browser);
    const [, sealed = ''] = browser.cookie(/login/) ?? [];
    await using other = await scene.another();
    const at = callback.replace(scene.service.url, other.url);
    const name = `adjutant_login_${new URL(other.url).port}`;
    browser.put(name, sealed, other.url);
    expect((await browser.get(at)).headers.get('location')).toBe('/console/requests?status=failed');
    expect(await viewOf(browser, other.url)).toMatchObject({ state: 'signed_in', tenant: 'acme' });
    // The same again, at either.
    const again = createStranger();
    again.put(name, sealed, other.url);
    again.put(`adjutant_login_${new URL(scene.service.url).port}`, sealed, scene.service.url);
    for (const url of [at, callback]) {
      expect((await again.get(url)).headers.get('location')).toBe('/console/');
      expect(await viewOf(again, new URL(url).origin)).toMatchObject({
        state: 'signed_out',
        sign_in: { failed: expect.stringContaining('used before') },
      });
    }
    // What the issuer says counts as long as it is configured.
    await using without = await scene.another({
      access: { jwt: { issuer: 'x', audience: 'y', jwks_url: 'https://x.invalid' } },
    });
    const [session = '', text = ''] = browser.cookie(/adjutant_session/) ?? [];
    expect(session).toContain(new URL(other.url).port);
    browser.put(`adjutant_session_${new URL(without.url).port}`, text, without.url);
    expect(await viewOf(browser, without.url)).toMatchObject({ state: 'signed_out' });
  });

  test('is not finished in a browser that has not begun it, nor with another state or issuer', async () => {
    await scene.set({ claims: ADA, refuse: false });
    const begun = createStranger();
    const callback = await callbackOf(begun);
    const victim = createStranger();
    await victim.get(callback);
    expect(victim.cookie(/adjutant_session/)).toBe(undefined);
    // Somebody who has begun a login of their own is not signed in by the code of another person.
    await callbackOf(victim);
    await victim.get(callback);
    expect(victim.cookie(/adjutant_session/)).toBe(undefined);
    const changed = new URL(callback);
    for (const [name, value] of [
      ['iss', 'https://other.example'],
      ['state', 'x'],
      ['code', 'x'],
    ] as const) {
      const browser = createStranger();
      changed.href = await callbackOf(browser);
      changed.searchParams.set(name, value);
      expect((await browser.get(changed.href)).headers.get('location'), name).toBe('/console/');
      expect(browser.cookie(/adjutant_session/), name).toBe(undefined);
    }
  });

  test('goes on when some page sends its browser to the callback meanwhile', async () => {
    await scene.set({ claims: ADA, refuse: false });
    const browser = createStranger();
    const callback = await callbackOf(browser);
    await browser.get(`${scene.service.url}/console/login/oidc/callback?state=evil&code=x`);
    expect((await browser.get(callback)).headers.get('location')).toBe('/console/requests?status=failed');
    expect(await viewOf(browser)).toMatchObject({ state: 'signed_in' });
  });

  test('names the claim that is missing, and who has refused', async () => {
    const failedWith = async (settings: { claims?: object; refuse?: boolean }): Promise<string> => {
      await scene.set({ refuse: false, ...settings });
      const browser = createStranger();
      expect(await browser.follow(start())).toBe(`${scene.service.url}/console/`);
      expect(browser.cookie(/adjutant_session/)).toBe(undefined);
      return (await viewOf(browser)).sign_in?.failed ?? '';
    };
    expect(await failedWith({ claims: { company: 'acme' } })).toContain('has no claim "rights"');
    expect(await failedWith({ claims: { rights: 'read' } })).toContain('has no claim "company"');
    expect(await failedWith({ claims: { ...ADA, rights: 'root' } })).toContain('"rights"');
    expect(await failedWith({ claims: { ...ADA, company: 'other' } })).toContain('names no tenant');
    const refused = await failedWith({ refuse: true });
    expect(refused).toContain('(access_denied)');
    expect(refused).not.toContain('<b>');
  });

  test('goes back to the console only, and once to the address of the service', async () => {
    await scene.set({ claims: ADA, refuse: false });
    for (const path of ['//evil.example/', 'https://evil.example/', '/console/..//evil.example', '/v1/keys'])
      expect(await createStranger().follow(start(path)), path).toBe(`${scene.service.url}/console/`);
    const elsewhere = start().replace('127.0.0.1', 'localhost');
    const first = (await createStranger().get(elsewhere)).headers.get('location') ?? '';
    expect(first.startsWith(`${scene.service.url}/console/login/oidc?here=1&`)).toBe(true);
    const second = await createStranger().get(first.replace('127.0.0.1', 'localhost'));
    expect(second.headers.get('location')?.startsWith(`${scene.issuer}/auth?`)).toBe(true);
  });
});
