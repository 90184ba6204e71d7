/** Meaning and remedy of each type of error, for the console and docs/errors.md. Never promises that a repeat is safe. */
export const ADVICE: Readonly<Record<string, readonly [meaning: string, todo: string]>> = {
  timeout: [
    'No complete answer within `timeout_ms` (of a stream: silence for `idle_timeout_ms`). Retried.',
    'Raise the limit, or find out why the server is slow.',
  ],
  policy_denied: [
    'A rule of the policy denied the call: `details.rule`. Nothing was called.',
    'Change the call, or the rule, and redrive it.',
  ],
  rate_limited: [
    'The server, the provider or a configured limit asked to slow down, and waiting would pass the deadline. Retried.',
    'Lower `lane.rate` or `requests_per_minute`, or add a second model to the alias.',
  ],
  provider_error: [
    'The server or provider failed: HTTP 5xx, overloaded, an empty, broken or unfinished answer. Retried.',
    'Read its status page or log.',
  ],
  network: [
    'The connection was lost, or the server ended, during the call. Retried.',
    'Run `adjutant doctor`; read the log of the server.',
  ],
  auth: [
    'Credentials are missing or refused, or credit or quota is used up (`details.reason: "no_credit"`): the next model is used.',
    'Correct the key or token where the workers run, or run the command that the message names.',
  ],
  validation_error: [
    'The directive does not fit: arguments against the schema, an ambiguous name, a bad request, a prompt that is too long (`details.reason`).',
    'Correct what the message names.',
  ],
  validation: ['The same, reported by a tool in an older form.', 'Correct the arguments.'],
  not_found: ['The provider answered 404.', 'Correct `base_url` of the provider.'],
  unknown_tool: [
    'No server has that tool, or no server has that name.',
    '`adjutant tools` lists the tools; `details.close_names` has similar names.',
  ],
  unknown_model: [
    'No such alias or model, or none of its providers is available.',
    'Set the key that the message names, or correct the name.',
  ],
  tool_error: ['The tool itself reported an error.', "Read the message, which is the tool's own."],
  exception: ['The code of a directive type from a module threw an error.', 'Correct the module.'],
  executor: [
    'The call is impossible: an HTTP status or redirect, a missing feature, code that did not stop in time.',
    'Read the message and `details.status`.',
  ],
  internal_error: [
    'Adjutant itself failed, or a stored run is damaged.',
    'Read the log of the service, and report it.',
  ],
  invalid_result: [
    'The answer cannot be used: against the protocol or a schema, larger than a limit, or the request is full.',
    'The message names the place or the limit.',
  ],
  llm_error: [
    'The provider failed without an explanation. Another model of the alias is asked.',
    'Read the message; add a second model to the alias.',
  ],
  cancelled: [
    'It was cancelled, or its run did not need it any more.',
    'Nothing. `details.reason` has the reason, if one was given.',
  ],
  deadline_exceeded: [
    'No result within `deadline_ms`. The message names a server that was down.',
    'Check for a worker (`adjutant lanes`); raise the deadline.',
  ],
  expired: [
    'No attempt began within `start_by_ms`.',
    'Check for a free worker (`adjutant lanes`); submit it again.',
  ],
  outcome_unknown: [
    'The worker died or stopped during a call that must not be repeated: it may have happened.',
    'Check whether the work was done before you redrive it.',
  ],
  worker_lost: [
    'Four workers died one after the other during this directive.',
    "Find out why they die (memory, a module, the tool's answer), then redrive it.",
  ],
  denied: [
    'The call was denied, by the policy or by a person. The model reads it as the result of the call.',
    'Nothing, or change `policies.approvals`.',
  ],
  approval_expired: [
    'No decision about a call (`details.call_id`) or budget within `policies.approval_timeout_ms` or `approve_timeout_ms`.',
    'Resume the run or redrive the call, which asks again; decide earlier, raise that time, or notify people by a webhook.',
  ],
  budget_spent: [
    'A budget of the day is used up: `details` has which, how much and until when.',
    'Redrive it after `resets_at`, or raise the limit of the rule in `budgets`.',
  ],
  payload_lost: [
    'Its content is missing or changed in the store of large payloads. Nothing was called.',
    'Submit it again; find out what removes files or objects there.',
  ],
  decryption_key_missing: [
    'A worker or engine lacks the key (`details.key_id`) of the directive, run or conversation. Nothing was called.',
    'Add the key to the variable of `encryption.keys_env` on every worker and engine (or to `encryption.tenants`, see `details.setting`); redrive it.',
  ],
  decryption_failed: [
    'The ciphertext was changed or made for another directive, or keys of one name differ. Nothing was called.',
    'Compare the keys of client and workers; submit it again.',
  ],
  budget_exceeded: [
    'The run met a limit: tool calls, tokens or cost (`details.limit`).',
    'Raise the limit, or use `"budget": "ask"`.',
  ],
  duplicate_calls: [
    'The model asked for the same call too many times in a row.',
    "Improve the prompt or the tool's answer; `options.duplicate_calls` is the limit.",
  ],
  incomplete_response: [
    "The model's answer was cut off or withheld, or four in a row had unusable tool arguments.",
    'Raise `max_tokens`; `details.reason` says more.',
  ],
  request_full: ['The request holds `limits.request_bytes`.', 'Start another request, or raise the limit.'],
  invalid_options: ["The agent's `options` do not fit its strategy.", 'Correct `options`.'],
  queue_overflow: [
    'More directives were open at once than `limits.max_pending`.',
    'Raise it, or ask for less at once.',
  ],
  spawn_failed: [
    "A child run could not be started. The parent reads it as the child's end.",
    'The message has the cause.',
  ],
  not_recorded: [
    'A recorded case, or the original of a dry fork, has no answer for this call of a tool or model.',
    '`adjutant diff` compares both; record again if the change is intended, or fork without `--dry`.',
  ],
  unended: ['The directive had not ended when it was recorded.', 'Record the request after its end.'],
  webhook_failed: [
    'A receiver of webhooks answered with another status than 200–299, is gone, or has an address that is not allowed.',
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
  unknown_agent: ['There is no such agent.', '`adjutant agents` lists the agents.'],
  unknown_allowed_tools: [
    'Agent or run names tools without a server. Only names of the run fail it.',
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
  skipped: [
    'The run was resumed without this call of unknown outcome.',
    'Nothing: the model reads it as the error of the call.',
  ],
  id_conflict: [
    'The run uses a directive id that the request has already.',
    'Do not submit directives with the ids of the run.',
  ],
  stopped: [
    'The agent stopped the run (`stop`), or its `policies.error` did.',
    '`details` has the reason and the error.',
  ],
};

/** null: nothing is known about a type of a tool or provider. */
export function adviceOf(type: string): { readonly meaning: string; readonly todo: string } | null {
  const found = Object.hasOwn(ADVICE, type) ? ADVICE[type] : undefined;
  return found === undefined ? null : { meaning: found[0], todo: found[1] };
}
