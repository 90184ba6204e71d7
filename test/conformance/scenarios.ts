/** The client scenarios of the official suite that need no authorisation, and those that are not passed.
 *  It must never name one as not passed without the reason. */

export const SCENARIOS = [
  'initialize',
  'tools_call',
  'elicitation-sep1034-client-defaults',
  'sse-retry',
  'request-metadata',
  'sep-2322-client-request-state',
  'http-standard-headers',
  'http-custom-headers',
  'http-invalid-tool-headers',
  'json-schema-ref-no-deref',
  'json-schema-2020-12-preservation',
] as const;

/**
 * Left out altogether: the four of the skills extension, whose resources no tool call needs. `auth-scenarios.ts` has
 * those with a login.
 */
export const NOT_PASSED: Readonly<Record<string, string>> = {
  'http-custom-headers':
    'one of 18 checks: null for a boolean is refused before the call, as the tool’s own schema says',
};

/** Quick ones that together see the handshake, a call, the headers, a schema and a question. */
export const SHORT = [
  'initialize',
  'tools_call',
  'http-standard-headers',
  'json-schema-ref-no-deref',
  'sep-2322-client-request-state',
] as const;
