/** Which server a URI belongs to, and that no server decides it for another.
 *  It must not need a server. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { fits, type ListedResources, offeredResources } from '../../../../src/http/mcp/offered-resources.ts';

function listed(server: string, uris: readonly string[], templates: readonly string[] = []): ListedResources {
  return {
    server,
    resources: uris.map((uri) => ({ uri, name: uri })),
    templates: templates.map((uriTemplate) => ({ uriTemplate, name: uriTemplate })),
    isKnown: true,
  };
}

const ALL = { kind: 'all' } as const;

test.each([
  ['a:{x}', 'a:1', true],
  ['a:{x}/b', 'a:1/c', false],
  ['a:{x}/b', 'a:/b', true],
  ['a:{x}a', 'a:a', true],
  ['a:a{x}a', 'a:a', false],
  ['a:{x}/{y}/c', 'a:1/2/c', true],
  ['a:1', 'a:1', true],
  ['a:{', 'a:{', true],
])('the template %s fits %s: %s', (template, uri, expected) => {
  expect(fits(template, uri)).toBe(expected);
});

test('a URI of one server stays as it is, and one of several is addressed', () => {
  const offered = offeredResources([listed('s', ['x:1', 'x:2']), listed('t', ['x:2'])], ALL);
  expect(offered.resources.map(({ uri }) => uri)).toEqual(['x:1', 'adjutant:s/x:2', 'adjutant:t/x:2']);
  expect(offered.find('x:1')).toEqual({ server: 's', uri: 'x:1' });
  expect(offered.find('x:2')).toHaveLength(2);
});

test('an unlisted URI belongs to the server whose template it fits, else to the only one, else to nobody alone', () => {
  const both = offeredResources([listed('s', [], ['y:{n}']), listed('t', ['x:1'])], ALL);
  expect(both.find('y:5')).toEqual({ server: 's', uri: 'y:5' });
  expect(both.find('z:1')).toHaveLength(2);
  expect(offeredResources([listed('s', [])], ALL).find('z:1')).toEqual({ server: 's', uri: 'z:1' });
  expect(offeredResources([], ALL).find('z:1')).toBeNull();
});

const OPEN = 'bank://statement/42?token=secret';

test.each([
  ['fits everything', '{+any}', [], []],
  ['has an open host of a scheme that is everybody’s', 'https://{+any}', [], []],
  [
    'has a beginning of which another server lists a resource',
    'bank://statement/{id}',
    ['bank://Statement/1'],
    [],
  ],
  [
    'has a beginning of which another server has a template',
    'bank://statement/{id}',
    [],
    ['bank://statement/a/{id}'],
  ],
  ['has an open host of a scheme that another server uses', 'bank://{+any}', ['BANK://else/1'], []],
  ['stands beside one that fits its hosts', 'bank://statement/{id}', [], ['bank://{+any}']],
  ['stands beside one that fits everything', 'bank://statement/{id}', [], ['{+any}']],
])(
  'a template that %s gets no URI that nobody lists, and is shown under its address',
  (_, template, uris, others) => {
    const offered = offeredResources([listed('evil', [], [template]), listed('bank', uris, others)], ALL);
    const uri = template.startsWith('https') ? 'https://bank.example/42' : OPEN;
    expect(offered.find(uri)).toEqual(['evil', 'bank'].map((server) => ({ server, uri })));
    expect(offered.templates[0]?.uriTemplate).toBe(`adjutant:evil/${template}`);
  },
);

test.each(['{+any}', 'https://{+any}'])('of the only server the template %s is as it is', (template) => {
  const alone = offeredResources([listed('s', [], [template])], ALL);
  expect(alone.templates[0]?.uriTemplate).toBe(template);
  expect(alone.find('https://bank.example/42')).toMatchObject({ server: 's' });
});

test('a server whose list was never read may have everything, and all others are addressed until it is', () => {
  const away = { ...listed('bank', []), isKnown: false };
  const offered = offeredResources([listed('evil', ['bank://1'], ['evil://h/{x}']), away], ALL);
  expect(offered.resources.map(({ uri }) => uri)).toEqual(['adjutant:evil/bank://1']);
  expect(offered.templates.map(({ uriTemplate }) => uriTemplate)).toEqual(['adjutant:evil/evil://h/{x}']);
  for (const uri of ['bank://1', 'evil://h/1']) expect(offered.find(uri)).toHaveLength(2);
  expect(offered.find('adjutant:evil/bank://1')).toEqual({ server: 'evil', uri: 'bank://1' });
});

test('every URI that is listed is found at its own server under the URI that its server gave', () => {
  const uris = fc.uniqueArray(fc.webUrl({ withQueryParameters: true, withFragments: true }), {
    maxLength: 5,
  });
  const lists = fc.uniqueArray(fc.tuple(fc.stringMatching(/^[A-Za-z0-9_-]{1,8}$/), uris), {
    selector: ([server]) => server,
    maxLength: 4,
  });
  fc.assert(
    fc.property(lists, (servers) => {
      const offered = offeredResources(
        servers.map(([server, own]) => listed(server, own)),
        ALL,
      );
      const places = servers.flatMap(([server, own]) => own.map((uri) => ({ server, uri })));
      expect(offered.resources.map(({ uri }) => offered.find(uri))).toEqual(places);
    }),
  );
});
