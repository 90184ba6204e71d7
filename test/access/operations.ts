/** The operations of an API as its description has them: what a caller may try.
 *  It must never name a route itself. */

export interface FuzzedOperation {
  readonly method: string;
  readonly path: string;
  /** null: open to everyone. */
  readonly scope: string | null;
}

interface Description {
  readonly paths: Record<string, Record<string, { security: Record<string, string[]>[] }>>;
}

export async function operationsOf(url: string): Promise<FuzzedOperation[]> {
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as Description;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { security }]) => ({
      method: method.toUpperCase(),
      path: path.replaceAll(/\{\w+\}/g, 'fuzzed'),
      scope: security[0]?.['key']?.[0] ?? null,
    })),
  );
}
