/** The model of the demo: one with a key in the environment, else the scripted one, which is marked as such.
 *  It must never print a key. */

/** By the variable that holds its key, in the order of preference. */
const MODELS = [
  ['ANTHROPIC_API_KEY', 'anthropic:claude-haiku-4-5'],
  ['OPENAI_API_KEY', 'openai:gpt-5-mini'],
  ['GEMINI_API_KEY', 'google:gemini-2.5-flash'],
] as const;

const SCRIPTED = 'demo:script';

export interface DemoModel {
  /** For adjutant.json: the alias `demo`, and the scripted model where no other can be reached. */
  readonly config: {
    readonly providers: Readonly<Record<string, unknown>>;
    readonly models: { readonly demo: readonly string[] };
  };
  /** What the reader must know about it. */
  readonly notice: string;
}

export function demoModel(environment: Readonly<Record<string, string | undefined>>): DemoModel {
  const found = MODELS.find(([variable]) => (environment[variable] ?? '') !== '');
  const chain = found === undefined ? [SCRIPTED] : [found[1], SCRIPTED];
  return {
    config: { providers: { demo: { type: 'scripted' } }, models: { demo: chain } },
    notice:
      found === undefined
        ? `No key of a provider is set (${MODELS.map(([variable]) => variable).join(', ')}): the model is scripted. It only repeats text written for this demonstration.`
        : `${found[0]} is set: ${found[1]} is called; if it does not answer, a scripted model does, and says so.`,
  };
}
