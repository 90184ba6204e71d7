/** Which version of JSON Schema a schema is written in.
 *  It must never need more than its `$schema`. */

export type SchemaDialect = '2020' | '2019' | '07';

/** Without `$schema`, MCP means 2020-12. */
export function dialectOf(schema: Readonly<Record<string, unknown>>): SchemaDialect {
  const named = schema['$schema'];
  if (typeof named !== 'string' || named.includes('2020-12')) return '2020';
  return named.includes('2019-09') ? '2019' : '07';
}
