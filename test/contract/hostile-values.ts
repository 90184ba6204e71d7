// Values that break careless code, each with a name; created again on every call.
// Must never hold a value that a test needs to read.

export function hostileValues(): [name: string, value: unknown][] {
  return [
    ['a cycle', cycle()],
    ['a cycle with two branches', branchingCycle()],
    ['a getter that throws', throwingGetter()],
    ['100 000 nested arrays', nested(100_000, (inner) => [inner])],
    ['100 000 nested objects', nested(100_000, (inner) => ({ inner }))],
    ['100 000 nested error tuples', nested(100_000, (inner) => ['error', inner])],
    ['an error tuple that holds itself', selfTuple()],
    ['objects that share their parts', sharedParts()],
    ['a huge string', 'x'.repeat(5_000_000)],
    ['a string cut inside a surrogate pair', `${'x'.repeat(16_369)}😀${'y'.repeat(100)}`],
    ['a lone surrogate', '\ud800'],
    ['NaN', Number.NaN],
    ['Infinity', Number.POSITIVE_INFINITY],
    ['a bigint', 10n],
    ['a huge bigint', 1n << 1_000_000n],
    [
      'a Map',
      new Map<unknown, unknown>([
        ['a', 1],
        [{ b: 2 }, new Map()],
      ]),
    ],
    ['a Set', new Set([1, new Set([2])])],
    ['an Error', new Error('broken', { cause: new TypeError('inner') })],
    ['an Error that is its own cause', selfCause()],
    ['a Buffer', Buffer.from('secret bytes')],
    ['an ArrayBuffer', new ArrayBuffer(8)],
    ['a Date', new Date(0)],
    ['an invalid Date', new Date(Number.NaN)],
    ['a function', function named() {}],
    ['a function with a throwing name', throwingName()],
    ['a symbol', Symbol('mark')],
    ['undefined', undefined],
    ['null', null],
    [
      'a class instance',
      new (class Point {
        x = 1;
      })(),
    ],
    ['a sparse array', sparse()],
    ['a proxy whose every trap throws', throwingProxy()],
    ['a revoked proxy', revokedProxy()],
    ['an own __proto__ key', JSON.parse('{"__proto__": {"polluted": true}, "a": 1}')],
    ['a constructor.prototype key', JSON.parse('{"constructor": {"prototype": {"polluted": true}}}')],
    [
      'a toJSON that throws',
      {
        toJSON: () => {
          throw new Error('no');
        },
      },
    ],
    ['an object without prototype', Object.assign(Object.create(null), { a: 1 })],
    [
      '100 000 members',
      Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, index])),
    ],
    [
      'a throwing toString',
      {
        toString() {
          throw new Error('no');
        },
        message: {
          toString() {
            throw new Error('no');
          },
        },
      },
    ],
  ];
}

export function nested(depth: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = 0;
  for (let level = 0; level < depth; level += 1) value = wrap(value);
  return value;
}

function cycle(): unknown {
  const value: Record<string, unknown> = { a: 1 };
  value['self'] = value;
  return value;
}

function branchingCycle(): unknown {
  const value: Record<string, unknown> = {};
  value['left'] = value;
  value['right'] = [value, value];
  return value;
}

function throwingGetter(): unknown {
  return {
    get message(): string {
      throw new Error('no');
    },
    readable: 1,
  };
}

function selfTuple(): unknown {
  const tuple: unknown[] = ['error'];
  tuple.push(tuple);
  return tuple;
}

/** Forty levels that each name the next one twice: 2^40 paths through forty objects. */
function sharedParts(): unknown {
  return nested(40, (inner) => ({ left: inner, right: inner }));
}

function selfCause(): Error {
  const error = new Error('round');
  error.cause = error;
  return error;
}

function throwingName(): unknown {
  return Object.defineProperty(() => {}, 'name', {
    get() {
      throw new Error('no');
    },
  });
}

function sparse(): unknown {
  const list: unknown[] = [1];
  list.length = 4_000_000_000;
  return list;
}

function throwingProxy(): unknown {
  const refuse = () => {
    throw new Error('no');
  };
  return new Proxy(
    {},
    { get: refuse, has: refuse, ownKeys: refuse, getPrototypeOf: refuse, getOwnPropertyDescriptor: refuse },
  );
}

function revokedProxy(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
