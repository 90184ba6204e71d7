// Parameters that a caller sends to the provider beside those of the contract, and the names that are not theirs to set.
// Must never accept a name that changes the model, the messages, the cost limit, the address or the credentials.
import * as z from 'zod';
import { isDeeperThan } from '../json/json-guard.ts';
import { isObject } from '../json/json-object.ts';

const MAX_CHARACTERS = 16_384;
const MAX_LEVELS = 8;

/** Names without `_`, `-` and case: `maxTokens` and `max_tokens` are one. */
const RESERVED: ReadonlySet<string> = new Set([
  'model',
  'modelid',
  'models',
  'modellist',
  'adapterid',
  'adaptersource',
  'adapters',
  'preset',
  'route',
  'customllmprovider',
  'mockresponse',
  'messages',
  'input',
  'prompt',
  'promptembeds',
  'chattemplate',
  'contents',
  'content',
  'system',
  'systeminstruction',
  'instructions',
  'texts',
  'values',
  'inputtext',
  'previousresponseid',
  'conversation',
  'cachedcontent',
  'container',
  'tools',
  'toolchoice',
  'toolconfig',
  'functions',
  'functioncall',
  'mcpservers',
  'plugins',
  'websearchoptions',
  'websearch',
  'searchparameters',
  'enablesearch',
  'datasources',
  'stream',
  'streamoptions',
  'background',
  'store',
  'n',
  'bestof',
  'candidatecount',
  'samplecount',
  'numresults',
  'numgenerations',
  'numreturnsequences',
  'numpredict',
  'temperature',
  'dimensions',
  'encodingformat',
  'responseformat',
  'responseschema',
  'responsejsonschema',
  'responsemimetype',
  'format',
  'outputformat',
  'extrabody',
  'extraheaders',
  'extraquery',
  'headers',
  'disableglobalguardrails',
  'logitsprocessors',
  'kvtransferparams',
  'apiversion',
  'apibase',
  'proto',
  'constructor',
]);

/** Names of the longest answer, of other models (LiteLLM's `context_window_fallbacks`), and of adapters in a model's place. */
const LIMITS_AND_MODELS =
  /^max(?:gen|new|output|completion|response)?(?:tokens?|tokencount|len|length)(?:tosample)?$|fallback|^lora/;

/** Names of addresses and credentials, as proxies take them in a request's body. */
const SENSITIVE =
  /^(?!promptcachekey$).*(?:key|secret|password|credentials?|authorization|token|url|uri|host|endpoint|callback)$/;

/** Schema of parameters for the API of a provider. */
export const providerOptionsSchema = z
  .record(z.string(), z.unknown())
  .superRefine((options, context) => {
    const fault = providerOptionsFault(options);
    if (fault !== null) context.addIssue({ code: 'custom', ...fault });
  })
  .describe(
    'Parameters for the API of the provider, merged into the body of the request; what the configuration sets under `params` wins. ' +
      'Fields of the contract, messages, tools, addresses and credentials are refused at every depth. At most 16,384 characters of JSON and 8 levels. Default: none.',
  );

interface Fault {
  readonly path: PropertyKey[];
  readonly message: string;
}

function providerOptionsFault(options: Readonly<Record<string, unknown>>): Fault | null {
  if (isDeeperThan(options, MAX_LEVELS))
    return { path: [], message: `is nested deeper than ${MAX_LEVELS} levels` };
  if (JSON.stringify(options).length > MAX_CHARACTERS)
    return { path: [], message: `is longer than ${MAX_CHARACTERS} characters of JSON` };
  const path = reservedIn(options);
  return (
    path && {
      path,
      message: 'cannot be set here: it is a field of the contract, or an address or credential',
    }
  );
}

/** The place of the first reserved name. The value is not deeper than its bound. */
function reservedIn(value: unknown): PropertyKey[] | null {
  if (Array.isArray(value)) return firstBelow(value.entries());
  return isObject(value) ? firstBelow(Object.entries(value)) : null;
}

function firstBelow(members: Iterable<[PropertyKey, unknown]>): PropertyKey[] | null {
  for (const [name, member] of members) {
    if (typeof name === 'string' && isReserved(name)) return [name];
    const below = reservedIn(member);
    if (below !== null) return [name, ...below];
  }
  return null;
}

/** The same for every spelling of a name: `maxTokens`, `max_tokens`. */
export function plainName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9]/g, '').toLowerCase();
}

function isReserved(name: string): boolean {
  const plain = plainName(name);
  return RESERVED.has(plain) || LIMITS_AND_MODELS.test(plain) || SENSITIVE.test(plain);
}
