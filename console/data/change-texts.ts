/** The changes that a person types into the dialogs of a request, as the API takes them. Never sends a field that was left empty. */

/** Limits of a run, with their labels. */
export const LIMITS = [
  ['max_iterations', 'Model calls'],
  ['max_tool_calls', 'Tool calls'],
  ['max_tokens', 'Tokens'],
  ['max_cost', 'Cost in dollars'],
  ['deadline_ms', 'Time in ms'],
] as const;

export type LimitTexts = { readonly [Name in (typeof LIMITS)[number][0]]?: string };

/** Text that is no number is sent as it is: the service names the fault. */
export function limitsOf(texts: LimitTexts): Record<string, number> {
  return Object.fromEntries(
    Object.entries(texts)
      .filter(([, text]) => text.trim() !== '')
      .map(([name, text]) => [name, numberOr(text.trim()) as number]),
  );
}

function numberOr(text: string): unknown {
  const value = Number(text);
  return Number.isFinite(value) ? value : text;
}

/** `provider:model`, or the alias of a model. */
export function modelOf(text: string): { model?: string; model_alias?: string } {
  const name = text.trim();
  if (name === '') return {};
  return name.includes(':') ? { model: name } : { model_alias: name };
}

/** Names or patterns of tools, separated by commas or spaces. */
export function namesOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((name) => name !== '');
}
