/** A template with what an agent must read beside it: procedure, context, and one sentence from the procedure.
 *  It must never shorten or change a text. */
import type { DirectiveFolder } from './directive-folder.ts';
import { done, missing, MISSING, type Outcome, type Refusal, refused } from './refusal.ts';

export interface Text {
  readonly path: string;
  readonly content: string;
}

/** The order of the members is part of the contract. */
export interface Bundle {
  readonly primer: string;
  readonly agentOperatingProcedure: Text;
  readonly agentContext: Text;
  readonly template: Text;
  readonly resources: readonly { readonly path: string }[];
}

export const TEMPLATES = ['spec_template.md', 'impact_template.md', 'tdr_template.md'] as const;

export type Template = (typeof TEMPLATES)[number];

const PROCEDURE = 'directive/reference/agent_operating_procedure.md';
const CONTEXT = 'directive/reference/agent_context.md';
const TEMPLATE_FOLDER = 'directive/reference/templates/';

const SUGGESTION = 'Run `adjutant update`, which writes what is missing.';
const RULES = /Do not write code|Do not start coding/;
const DEFAULT_PRIMER = 'Do not write code before TDR approval. Follow Spec → Impact → TDR → TDD.';

export async function bundleOf(folder: DirectiveFolder, template: Template): Promise<Outcome<Bundle>> {
  const procedure = await textAt(folder, PROCEDURE, () => missingReference(PROCEDURE));
  if (!procedure.ok) return procedure;
  const context = await textAt(folder, CONTEXT, () => missingReference(CONTEXT));
  if (!context.ok) return context;
  const path = TEMPLATE_FOLDER + template;
  const form = await textAt(folder, path, async () => missingTemplate(folder, path));
  if (!form.ok) return form;
  return done({
    primer: primerOf(procedure.value.content),
    agentOperatingProcedure: procedure.value,
    agentContext: context.value,
    template: form.value,
    resources: [PROCEDURE, CONTEXT, path].map((each) => ({ path: each })),
  });
}

/** The first rule against early code, without bold; else a sentence of the same meaning. */
function primerOf(procedure: string): string {
  const rule = procedure.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/).find((line) => RULES.test(line));
  return rule === undefined ? DEFAULT_PRIMER : rule.trim().replaceAll('**', '');
}

type Absent = () => Refusal | Promise<Refusal>;

async function textAt(folder: DirectiveFolder, path: string, absent: Absent): Promise<Outcome<Text>> {
  const read = await folder.read(path);
  if (read.ok) return done({ path, content: read.value });
  const isAbsent = read.refusal.code === MISSING && read.refusal.message.endsWith(path);
  return isAbsent ? refused(await absent()) : read;
}

function missingReference(path: string): Refusal {
  return missing(`Missing ${path}. Run 'directive update'.`, { suggestion: SUGGESTION });
}

async function missingTemplate(folder: DirectiveFolder, path: string): Promise<Refusal> {
  const listed = await folder.list();
  const all = listed.ok ? listed.value : [];
  const availableTemplates = all.filter((each) => each.startsWith(TEMPLATE_FOLDER));
  const message = `Missing template: ${path}. Run 'directive update' or choose an existing template.`;
  return missing(message, { suggestion: SUGGESTION, availableTemplates });
}
