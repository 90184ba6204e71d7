/** The meaning of each type of error and the way out, after docs/troubleshooting.md. Never promises that a repeat is safe. */
const ADVICE: Readonly<Record<string, readonly [meaning: string, todo: string]>> = {
  timeout: ['No complete answer within timeout_ms.', 'Raise the limit, or find out why the server is slow.'],
  rate_limited: [
    'The server or provider asked to slow down until the deadline.',
    'Lower the rate, or add a second model to the alias.',
  ],
  provider_error: ['The server or provider failed.', 'Read its status page or log.'],
  network: ['The connection was lost during the call.', 'Run `adjutant doctor`; read the log of the server.'],
  auth: [
    'Credentials are missing or refused, or the account has no credit.',
    'Correct the key where the workers run.',
  ],
  validation_error: ['The directive does not fit its tool or provider.', 'Correct what the message names.'],
  validation: ['The arguments do not fit.', 'Correct the arguments.'],
  not_found: ['The provider answered 404.', 'Correct `base_url` of the provider.'],
  unknown_tool: ['No server has that tool.', 'Correct the name, as the page of tools has it.'],
  unknown_model: [
    'No such model, or none of its providers is available.',
    'Set the key that the message names, or correct the name.',
  ],
  tool_error: ['The tool itself reported an error.', 'Read its message.'],
  exception: ['The code of a module threw an error.', 'Correct the module.'],
  executor: ['The call cannot be carried out.', 'Read the message and `details.status`.'],
  internal_error: ['Adjutant itself failed.', 'Read the log of the service, and report it.'],
  invalid_result: [
    'The answer cannot be used: it is against the protocol or larger than a limit.',
    'The message names the place or the limit.',
  ],
  llm_error: [
    'The provider failed without an explanation.',
    'Read the message; add a second model to the alias.',
  ],
  cancelled: ['It was cancelled by a caller, or its run needed it no more.', 'Nothing.'],
  deadline_exceeded: [
    'No result within deadline_ms.',
    'See whether a worker serves its lane; else raise the deadline.',
  ],
  expired: [
    'It had not begun within start_by_ms of the instant at which it might; no attempt was made.',
    'See whether a worker serves its lane; then redrive it, or give it more time.',
  ],
  outcome_unknown: [
    'The worker was lost during a call that must not be repeated: it may have happened.',
    'See whether the work was done before you redrive.',
  ],
  worker_lost: ['Four workers died one after the other.', 'Find out why they die, then redrive.'],
  denied: ['The call was denied by a person or the policy.', 'Nothing, or change `policies.approvals`.'],
  approval_expired: [
    'No decision about a call or budget within policies.approval_timeout_ms or approve_timeout_ms.',
    'Resume the run or redrive the call, which asks again; decide earlier, or raise that time.',
  ],
  budget_spent: [
    'A budget of the day is too small for the call of the model.',
    'Redrive it after `resets_at`, or raise the limit of the rule in `budgets`.',
  ],
  payload_lost: [
    'Its content is not in the store of large payloads, or was changed there; nothing was called.',
    'Submit it again; find out what removes files or objects there.',
  ],
  decryption_key_missing: [
    'It is encrypted with a key that its worker or engine does not have; nothing was called.',
    'Add the key to the variable of `encryption.keys_env` on every worker and engine, then submit it again.',
  ],
  decryption_failed: [
    'What is encrypted was changed, or made for another directive or with another key of this name; nothing was called.',
    'Compare the key at the client and at the workers, then submit it again.',
  ],
  budget_exceeded: [
    'The run met a limit of calls, tokens or cost.',
    'Raise the limit, or use `"budget": "ask"`.',
  ],
  duplicate_calls: [
    'The model asked for the same call too often.',
    'Improve the prompt or the answer of the tool.',
  ],
  incomplete_response: ['The answer of the model was cut off or withheld.', 'Raise `max_tokens`.'],
  request_full: [
    'The request holds as many bytes as it may.',
    'Start another request, or raise `limits.request_bytes`.',
  ],
  invalid_options: ["The agent's options do not fit its strategy.", 'Correct `options` of the agent.'],
  queue_overflow: [
    'More directives were open at once than limits.max_pending.',
    'Raise it, or ask for less at once.',
  ],
  spawn_failed: ['A child run could not be started.', 'The message says why.'],
  not_recorded: [
    'The record has no answer for this call of a tool or model.',
    'Compare both runs; record again if the change is intended.',
  ],
  unended: ['The directive had not ended when it was recorded.', 'Record the request after its end.'],
  webhook_failed: [
    'The receiver answered with another status than 200–299, is gone, or has an address that is not allowed.',
    'Read the message; redrive it when the receiver works.',
  ],
  max_iterations: ['The run made as many model calls as it may.', 'Resume it with a higher limit.'],
  execution_error: ['An error without a type of its own.', 'Read the message.'],
  stalled: ['The strategy waits for nothing and has no outcome.', 'Correct the strategy.'],
  strategy_error: [
    'The code of the strategy threw an error, or gave an invalid step.',
    'Correct the module; the log has the stack.',
  ],
  unknown_strategy: [
    'No engine has the strategy that the agent names.',
    'Name its module under `strategies`, for every engine.',
  ],
  unknown_agent: ['There is no such agent.', 'Correct the name, as the page of agents has it.'],
  unknown_allowed_tools: [
    'Agent or run names tools without a server.',
    'Start the server, or correct the names.',
  ],
  busy: [
    'Another run of the conversation is in progress, and the policy is `reject`.',
    'Wait for it, cancel it, or use `"busy": "queue"`.',
  ],
  conversation_changed: [
    'A later run had continued the conversation before the resume.',
    'Start a new run in the conversation.',
  ],
  skipped: ['The run was resumed without this call of unknown outcome.', 'Nothing: the model reads it.'],
  id_conflict: [
    'The run uses a directive id that the request has already.',
    'Do not submit directives with the ids of the run.',
  ],
  stopped: ['The agent stopped the run.', 'The details have the reason.'],
};

/** null: nothing is known about a type of a tool or provider. */
export function adviceOf(type: string): { readonly meaning: string; readonly todo: string } | null {
  const found = Object.hasOwn(ADVICE, type) ? ADVICE[type] : undefined;
  return found === undefined ? null : { meaning: found[0], todo: found[1] };
}
