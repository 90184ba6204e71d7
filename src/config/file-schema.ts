// The sections of adjutant.json.
// Must never accept a key that no section knows.
import * as z from 'zod';
import { accessSections } from './access.ts';
import { budgetFaults, budgetSections } from './budgets.ts';
import { flowFaults, flowSections } from './flow.ts';
import { archiveSections, lateArchive } from './archive.ts';
import { encryptionSections } from './encryption.ts';
import { modelSections } from './models.ts';
import { byName } from './names.ts';
import { notes } from './notes.ts';
import { payloadSections } from './payloads.ts';
import { runSections } from './runs.ts';
import { searchSections } from './search.ts';
import { serviceSections } from './service.ts';
import { signalsSections } from './signals.ts';
import { webhookSections } from './webhooks.ts';
import { tenantSections, uncountedTenants } from './tenants.ts';
import { serverNameSchema } from '../contract/identifiers.ts';

export const fileSchema = z.strictObject({
  $schema: z
    .string()
    .optional()
    .register(notes, { description: 'The JSON Schema of this file, for your editor.', fallback: 'none' }),
  /** Each server is read on its own, so that a fault is reported for the form that was meant. */
  mcpServers: byName(serverNameSchema, z.unknown()).prefault({}),
  ...modelSections,
  ...runSections,
  ...serviceSections,
  ...accessSections,
  ...archiveSections,
  ...payloadSections,
  ...encryptionSections,
  ...searchSections,
  ...signalsSections,
  ...tenantSections,
  ...budgetSections,
  ...flowSections,
  ...webhookSections,
});

/** With what one section asks of another. */
export const wholeSchema = fileSchema.superRefine((sections, context) => {
  for (const message of lateArchive(sections))
    context.addIssue({ code: 'custom', path: ['archive', 'after_ms'], message });
  for (const fault of [...budgetFaults(sections), ...flowFaults(sections)])
    context.addIssue({ code: 'custom', ...fault });
  for (const name of uncountedTenants(sections))
    context.addIssue({
      code: 'custom',
      path: ['tenants', name, 'stored_bytes'],
      message: 'needs the list of requests, which search.enabled turns off',
    });
});
