/** How the protections of resumes, of approvals and of notices about questions are removed.
 *  It must never hold a patch that no longer fits the sources. */
import { type Patch, patch } from './patch.ts';

type Mutations = Readonly<Record<string, readonly Patch[]>>;

const RESUME_MUTATIONS: Mutations = {
  'resume-ended': [patch('resume-ended', 'elseif false then')],
  'resume-version': [patch('resume-version', 'elseif false then')],
  'announced-resume': [patch('announced-resume', '')],
};

/** A call that was denied, or that no one decided about, is made. */
const APPROVAL_MUTATIONS: Mutations = {
  'approved-content': [patch('approved-content', 'return null;')],
};

const ASK_MUTATIONS: Mutations = {
  'ask-notified': [patch('ask-notified', '')],
};

/** Each with the test that notices it. */
export const PEOPLE_NOTICED: readonly (readonly [mutations: Mutations, test: string])[] = [
  [RESUME_MUTATIONS, 'test/integration/agents/resume.test.ts'],
  [APPROVAL_MUTATIONS, 'test/integration/service/call-approvals.test.ts'],
  [ASK_MUTATIONS, 'test/integration/features/webhooks/asks.test.ts'],
];
