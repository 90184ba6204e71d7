// Checks an answer against the schema of the question, which a server chose: within the bounds for schemas of strangers.
// Must never refuse an answer because the schema is of no use: the server checks for itself.
import { ServiceUnavailable } from '../contract/problem.ts';
import type { SchemaChecks } from '../platform/json-schema/schema-checks.ts';
import type { CheckContent } from '../directives/answer-question.ts';

const AGAIN_MS = 1_000;

export function answerChecks(schemas: SchemaChecks): CheckContent {
  return async (schema, content, tenant) => {
    const verdict = await schemas.of(schema).check(content, 'content', { tenant, mayBeRefused: true });
    switch (verdict.kind) {
      case 'passed':
      case 'unusable':
        return [];
      case 'faults':
        return verdict.faults;
      case 'unchecked':
        return [{ path: 'content', message: `could not be checked: ${verdict.reason}` }];
      case 'refused':
        throw new ServiceUnavailable('Too many answers of the tenant wait to be checked.', {
          retryAfterMs: AGAIN_MS,
        });
    }
  };
}
