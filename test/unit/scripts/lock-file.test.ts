/** The lock file, as `npm ci` on any platform needs it.
 *  It must not ask a registry. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

interface LockedPackage {
  readonly version?: string;
  readonly link?: boolean;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  readonly packages: Readonly<Record<string, LockedPackage>>;
};

/** Whether `name`, required from the package at `path`, has an entry, by Node's own search upwards. */
function isLocked(path: string, name: string): boolean {
  const above = path
    .split('/node_modules/')
    .map((_, index, parts) => parts.slice(0, index + 1).join('/node_modules/'));
  return ['', ...above].some(
    (folder) => `${folder === '' ? '' : `${folder}/`}node_modules/${name}` in lock.packages,
  );
}

test('every platform of an optional dependency is locked, because npm ci refuses a lock file that lacks one', () => {
  const absent = Object.entries(lock.packages).flatMap(([path, { optionalDependencies }]) =>
    Object.keys(optionalDependencies ?? {}).filter((name) => !isLocked(path, name)),
  );
  expect(absent).toEqual([]);
});

test('no entry names a registry', () => {
  const resolved = Object.values(lock.packages).filter((entry) => entry.resolved !== undefined);
  expect(resolved.filter(({ link }) => link !== true)).toEqual([]);
});

test.each(['package.json', 'console/package.json'])('the dependencies of %s are exact versions', (file) => {
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as {
    readonly dependencies?: object;
    readonly devDependencies: object;
  };
  const versions: string[] = Object.values({ ...manifest.dependencies, ...manifest.devDependencies });
  expect(versions.filter((version) => !/^(npm:[\w-]+@)?\d/.test(version))).toEqual([]);
});
