# Generated from the JSON Schemas of the contract by scripts/generate-python-models.ts. Schemas: f1b3af5806544bb8065da1181dde4f86901842497183305d8f5541d0a4a96ac3

from __future__ import annotations

from typing import Annotated, Any, Dict, Literal

from adjutant_client.model import Model
from pydantic import ConfigDict, Field
from typing_extensions import TypeAliasType


class AcceptedInput(Model):
    request_id: str
    """
    Id of the request.
    """
    input_id: str
    """
    Id of the input.
    """
    queued: int
    """
    Number of inputs that wait, this one included.
    """


class ApprovalDecisionBody(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    decision: Literal['approve', 'deny']
    """
    Decision about the call.
    """
    reason: str | None = None
    """
    Reason of the decision, at most 4,096 characters.
    """
    arguments: dict[str, Any] | None = None
    """
    Arguments that replace those of an approved call. Encrypted: `{arguments, reason}`.
    """
    by: str | None = None
    """
    Name of the deciding person as the caller states it. Default: the name of the caller's key, where keys are required.
    """


class BegunStep(Model):
    run: str
    """
    Name of the run, chosen by its program. Runs of other callers with the same name are other runs.
    """
    key: str
    """
    Key of the step in its run: the same key is the same step.
    """
    state: Literal['run', 'recorded', 'running', 'unknown'] | str
    """
    `run`: the caller runs the step now. `recorded`: it has ended, with `result` or `error`. `running`: another process holds its lease. `unknown`: the process of a `once` step died, and it may have acted.
    """
    token: str | None = None
    """
    Token for the end and for renewals. Present with `run`.
    """
    lease_ms: int | None = None
    """
    Remaining time of the lease, in milliseconds. Present with `run` and `running`.
    """
    result: Any | None = None
    """
    Recorded result, any JSON value. Absent: none.
    """
    error: str | None = None
    """
    Recorded error of a `once` step. Absent: it succeeded.
    """


class DirectiveViewWaiting(Model):
    reason: str
    """
    Reason of the wait. A later version may add others.
    """
    since: str | None = None
    """
    Instant (UTC) from which the directive has waited for its first success: its acceptance or earliest start, else the start of its first attempt; for `worker_lost` the end of the lease. Absent: unknown.
    """
    until: str | None
    """
    Instant (UTC) of the next attempt; null: unknown.
    """
    message: str
    """
    Explanation of the wait, at most 512 characters.
    """


class DirectiveViewInputsItem(Model):
    input_id: str
    """
    Id of the question within its request, at most 256 characters.
    """
    key: str | None = None
    """
    Name of the question at its server, at most 256 characters. Absent: none.
    """
    mode: Literal['form', 'url'] | str
    """
    Form of the question. `form`: the answer is an object that satisfies `schema`. `url`: the person opens `url`, and the answer confirms it.
    """
    message: str
    """
    Question to the person, at most 8,192 characters. Untrusted text of the server.
    """
    schema_: Annotated[dict[str, Any] | None, Field(alias='schema')] = None
    """
    JSON Schema of the answer, for `form`.
    """
    url: str | None = None
    """
    Address for the person to open, at most 4,096 characters, for `url`. The service never fetches it.
    """
    deadline_at: str
    """
    Instant (UTC) at which the question is declined without an answer.
    """


class DirectiveViewNoticesItem(Model):
    endpoint: str | None
    """
    Name of the endpoint, or `url:` with a hash of the caller's address; null: no delivery has been accepted yet.
    """
    status: str
    """
    State of the delivery. `waiting`: another attempt follows. `delivered`. `dead`: failed, and listed as a dead letter. `failed`: ended otherwise, for example cancelled. A later version may add others.
    """
    attempts: int
    """
    Number of attempts.
    """
    next_attempt_at: str | None
    """
    Instant (UTC) of the next attempt; null: immediately, or never.
    """
    ended_at: str | None
    """
    Instant (UTC) of the end; null: not ended.
    """
    error: str | None
    """
    Type of the error that ended the delivery; null: not ended, or without an error.
    """
    reason: str | None = None
    """
    Reason why the event is not delivered: its last failure, or a wait, at most 512 characters. Absent: no attempt has failed.
    """
    request_id: str
    """
    Id of the delivery's request; after a redrive the newest.
    """
    id: str | None
    """
    Id of the delivery's directive; null: no delivery has been accepted yet.
    """
    url: str
    """
    Path of the delivery at the API.
    """


class EndedWork(Model):
    state: Literal['recorded', 'cancelled', 'lost'] | str
    """
    `recorded`: the end is stored; the same end again is the same. `cancelled`, `lost`: it has no effect.
    """


class ErrorEnvelope(Model):
    type: str
    """
    Type of the error, such as `timeout`.
    """
    message: str
    """
    Explanation of the error for a person.
    """
    details: dict[str, Any]
    """
    Further fields of the error, depending on its type.
    """
    retryable: bool
    """
    Whether the same directive may succeed in another attempt.
    """


class ForeignRunViewDiverged(Model):
    pass_: Annotated[int, Field(alias='pass')]
    """
    Number of the pass.
    """
    turn: int
    """
    Number of the recorded turn that it did not repeat.
    """
    request_id: str
    """
    Request of that turn, whose log has the first difference (`run.diverged`).
    """


class ForeignRunViewLatestTurnsItem(Model):
    turn: int
    """
    Number of the turn.
    """
    request_id: str
    """
    Request of its model call.
    """
    tool_calls: int
    """
    Number of tool calls that its answer asks for.
    """
    replays: int
    """
    Number of times that its answer was given from the record.
    """


class ForeignRunView(Model):
    run: str
    """
    Name of the run, chosen by its program. Runs of other callers with the same name are other runs.
    """
    status: Literal['open', 'idle', 'completed', 'failed'] | str
    """
    `open`, `idle` after 10 minutes without a call, or how its program closed it. An idle run goes on with its next call.
    """
    begun_at: str
    """
    Instant (UTC) of its first call.
    """
    passes: int
    """
    Number of passes: starts of its program that were recognised.
    """
    branched: bool
    """
    Whether the current pass has left the record.
    """
    turns: int
    """
    Number of recorded model calls.
    """
    tool_calls: int
    """
    Number of recorded tool calls.
    """
    steps: int
    """
    Number of steps.
    """
    replays: int | None = None
    """
    Number of answers that were given from the record.
    """
    diverged: Annotated[
        ForeignRunViewDiverged | None, Field(title='ForeignRunViewDiverged')
    ] = None
    """
    The last pass that left the record. Absent: none has.
    """
    latest_turns: list[ForeignRunViewLatestTurnsItem] | None = None
    """
    At most 20 turns, the newest first, or those up to the `turn` of the query.
    """
    request_prefix: str
    """
    Beginning of the ids of its requests, one for each call: `.t3` follows for the third turn, `.t3.c0` for the first tool call that it asked for.
    """
    trace_id: str
    """
    Trace of the calls whose program names none.
    """
    idle_ms: int | None = None
    """
    Time since its last call, in milliseconds.
    """
    kept_ms: int | None = None
    """
    Time until the run is forgotten unless a call comes, in milliseconds.
    """
    result: Any | None = None
    """
    Result with which it was closed. Absent: none.
    """
    error: str | None = None
    """
    Failure with which it was closed. Absent: none.
    """


class HeldWork(Model):
    state: Literal['held', 'cancelled', 'lost'] | str
    """
    `held`: the program has the work until its lease ends. `cancelled`: the directive has ended: stop. `lost`: the lease had ended: stop.
    """


class InputAnswerBody(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    action: Literal['accept', 'decline', 'cancel']
    """
    Answer of the person: `accept`, `decline` or `cancel`.
    """
    content: dict[str, Any] | None = None
    """
    Content of an accepted form, which satisfies its schema; absent members get the schema's defaults.
    """
    by: str | None = None
    """
    Name of the answering person as the caller states it. Default: the name of the caller's key, where keys are required.
    """


class MessageSystem(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    role: Literal['system'] = 'system'
    """
    Role of the message.
    """
    content: str
    """
    Text of the message.
    """


class MessageUserContent2ItemText(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    type: Literal['text'] = 'text'
    """
    Type of the part.
    """
    text: str
    """
    Text of the part.
    """
    provider_data: dict[str, dict[str, Any]] | None = None
    """
    Data of the provider about the part, returned to it unchanged.
    """


class MessageUserContent2ItemImage(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    type: Literal['image'] = 'image'
    """
    Type of the part.
    """
    url: str | None = None
    """
    Address of the image. Either `url` or `data`.
    """
    data: str | None = None
    """
    Content of the image as base64. Either `url` or `data`.
    """
    media_type: str | None = None
    """
    Media type. Default: detected from the data.
    """


class MessageUserContent2ItemFile(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    type: Literal['file'] = 'file'
    """
    Type of the part.
    """
    url: str | None = None
    """
    Address of the file. Either `url` or `data`.
    """
    data: str | None = None
    """
    Content of the file as base64. Either `url` or `data`.
    """
    media_type: str
    """
    Media type of the file.
    """
    filename: str | None = None
    """
    Name of the file, at most 256 characters.
    """


Content = TypeAliasType(
    "Content",
    Annotated[
        MessageUserContent2ItemText | MessageUserContent2ItemImage | MessageUserContent2ItemFile,
        Field(discriminator='type'),
    ],
)


class MessageUser(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    role: Literal['user'] = 'user'
    """
    Role of the message.
    """
    content: str | list[Content]
    """
    Text or parts of the message.
    """


class MessageAssistantContent2ItemText(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    type: Literal['text'] = 'text'
    """
    Type of the part.
    """
    text: str
    """
    Text of the part.
    """
    provider_data: dict[str, dict[str, Any]] | None = None
    """
    Data of the provider about the part, returned to it unchanged.
    """


class MessageAssistantContent2ItemThinking(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    type: Literal['thinking'] = 'thinking'
    """
    Type of the part.
    """
    text: str
    """
    Reasoning of the model, as text.
    """
    provider_data: dict[str, dict[str, Any]] | None = None
    """
    Data of the provider about the part, returned to it unchanged.
    """


class MessageAssistantContent2ItemImage(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    type: Literal['image'] = 'image'
    """
    Type of the part.
    """
    url: str | None = None
    """
    Address of the image. Either `url` or `data`.
    """
    data: str | None = None
    """
    Content of the image as base64. Either `url` or `data`.
    """
    media_type: str | None = None
    """
    Media type. Default: detected from the data.
    """


class MessageAssistantContent2ItemFile(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    type: Literal['file'] = 'file'
    """
    Type of the part.
    """
    url: str | None = None
    """
    Address of the file. Either `url` or `data`.
    """
    data: str | None = None
    """
    Content of the file as base64. Either `url` or `data`.
    """
    media_type: str
    """
    Media type of the file.
    """
    filename: str | None = None
    """
    Name of the file, at most 256 characters.
    """


class MessageAssistantContent2ItemToolCall(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    type: Literal['tool_call'] = 'tool_call'
    """
    Type of the part.
    """
    id: str
    """
    Id of a call in `tool_calls` of the same message. Ignored where no call has this id.
    """


Content1 = TypeAliasType(
    "Content1",
    Annotated[
        MessageAssistantContent2ItemText | MessageAssistantContent2ItemThinking | MessageAssistantContent2ItemImage | MessageAssistantContent2ItemFile | MessageAssistantContent2ItemToolCall,
        Field(discriminator='type'),
    ],
)


class MessageAssistantToolCallsItemArgumentsError(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    reason: Literal['cut', 'not_json', 'not_object', 'too_deep', 'too_many_values', 'inexact_number', 'forbidden_key']
    """
    Kind of fault. `cut`: the answer ended before it was complete, at `max_tokens` for example.
    """
    message: str
    """
    The fault as a sentence for the model.
    """
    written: str
    """
    Beginning of the text that the model wrote as arguments, at most 500 characters.
    """


class MessageAssistantToolCallsItem(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    id: str
    """
    Id of the call, at most 256 characters.
    """
    name: str
    """
    Name of the tool.
    """
    arguments: dict[str, Any]
    """
    Arguments of the call.
    """
    arguments_error: Annotated[
        MessageAssistantToolCallsItemArgumentsError | None,
        Field(title='MessageAssistantToolCallsItemArgumentsError'),
    ] = None
    """
    Why the arguments cannot be used; the call must not be made, and `arguments` is {}. Absent: they are whole.
    """
    provider_data: dict[str, dict[str, Any]] | None = None
    """
    Data of the provider about the call, returned to it unchanged.
    """


class MessageAssistant(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    role: Literal['assistant'] = 'assistant'
    """
    Role of the message.
    """
    content: str | list[Content1] | None = None
    """
    Text or parts of the message; null or absent: the message consists of tool calls only.
    """
    tool_calls: list[MessageAssistantToolCallsItem] | None = None
    """
    Tool calls of the message.
    """


class MessageToolContent2ItemText(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    type: Literal['text'] = 'text'
    """
    Type of the part.
    """
    text: str
    """
    Text of the part.
    """
    provider_data: dict[str, dict[str, Any]] | None = None
    """
    Data of the provider about the part, returned to it unchanged.
    """


class MessageToolContent2ItemImage(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    type: Literal['image'] = 'image'
    """
    Type of the part.
    """
    url: str | None = None
    """
    Address of the image. Either `url` or `data`.
    """
    data: str | None = None
    """
    Content of the image as base64. Either `url` or `data`.
    """
    media_type: str | None = None
    """
    Media type. Default: detected from the data.
    """


class MessageToolContent2ItemFile(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    type: Literal['file'] = 'file'
    """
    Type of the part.
    """
    url: str | None = None
    """
    Address of the file. Either `url` or `data`.
    """
    data: str | None = None
    """
    Content of the file as base64. Either `url` or `data`.
    """
    media_type: str
    """
    Media type of the file.
    """
    filename: str | None = None
    """
    Name of the file, at most 256 characters.
    """


Content2 = TypeAliasType(
    "Content2",
    Annotated[
        MessageToolContent2ItemText | MessageToolContent2ItemImage | MessageToolContent2ItemFile,
        Field(discriminator='type'),
    ],
)


class MessageTool(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    role: Literal['tool'] = 'tool'
    """
    Role of the message.
    """
    tool_call_id: str
    """
    Id of the tool call that the message answers.
    """
    name: str | None = None
    """
    Name of the tool. Default: the name in the call.
    """
    content: str | list[Content2]
    """
    Text or parts of the tool's result.
    """
    is_error: bool | None = None
    """
    Whether the tool call failed. Default: false.
    """


Message = TypeAliasType(
    "Message",
    Annotated[
        MessageSystem | MessageUser | MessageAssistant | MessageTool,
        Field(discriminator='role', title='Message'),
    ],
)


class ProblemErrorsItem(Model):
    path: str
    """
    Path of the field, such as `directives[0].tool_name`; empty for the whole body.
    """
    message: str
    """
    Fault of the field, which follows its name in a sentence.
    """


class Problem(Model):
    model_config = ConfigDict(
        extra='allow',
    )
    __annotations__ = {
        '__pydantic_extra__': Dict[str, Any],
    }
    type: str
    """
    URI of the kind of problem.
    """
    title: str
    """
    Title of the kind of problem.
    """
    status: int
    """
    HTTP status code, 100 to 599.
    """
    detail: str | None = None
    """
    Explanation of this occurrence.
    """
    instance: str | None = None
    """
    Path of the request that failed.
    """
    code: str
    """
    Code of the problem, stable across versions.
    """
    errors: list[ProblemErrorsItem] | None = None
    """
    Faults by field.
    """


class RecordedAnswer(Model):
    request_id: str
    """
    Id of the request.
    """
    call_id: str
    """
    Id of the call whose tool asked.
    """
    input_id: str
    """
    Id of the question.
    """
    action: Literal['accept', 'decline', 'cancel'] | str
    """
    Action that was recorded first.
    """
    by: str | None = None
    """
    Name of the answering person, as the caller stated it. Absent: unknown.
    """
    answered_at: str
    """
    Instant (UTC) of the answer.
    """


class RecordedDecision(Model):
    request_id: str
    """
    Id of the request.
    """
    call_id: str
    """
    Id of the call.
    """
    decision: Literal['approve', 'deny'] | str
    """
    Decision that was recorded first.
    """
    by: str | None = None
    """
    Name of the deciding person as the caller stated it, or of the caller's key. Absent: unknown.
    """
    decided_at: str | None = None
    """
    Instant (UTC) of the decision. Absent: no longer in the log.
    """


class RequestListingRequestsItemScoresItem(Model):
    name: str
    """
    Name of the score.
    """
    value: float
    """
    Its newest value.
    """
    passed: bool | None = None
    """
    Whether the request passed. Absent: the value alone counts.
    """


class RequestListingRequestsItemTokens(Model):
    input: int
    """
    Number of input tokens.
    """
    output: int
    """
    Number of output tokens.
    """


class RequestListingRequestsItem(Model):
    request_id: str
    """
    Id of the request.
    """
    status: Literal['open', 'waiting', 'succeeded', 'failed', 'cancelled'] | str
    """
    Status of the request.
    """
    created_at: str
    """
    Instant (UTC) of the creation.
    """
    closed_at: str | None
    """
    Instant (UTC) of the end; null: open.
    """
    directives: int
    """
    Number of accepted directives.
    """
    open: int
    """
    Number of directives and runs that have not ended.
    """
    types: list[str]
    """
    Types of its directives.
    """
    agent: str | None
    """
    Agent of its run; null: it has none.
    """
    tools: list[str]
    """
    Tools that were called.
    """
    models: list[str]
    """
    Models that were used.
    """
    error_types: list[str]
    """
    Types of the errors of directives and of the run, including those that were recovered.
    """
    tags: list[str]
    """
    Tags from `metadata.tags`.
    """
    redriven_as: str | None = None
    """
    Id of the newest directive that a redrive created. Absent: nothing was redriven.
    """
    text: str
    """
    Beginning of the query, at most 200 characters; for a delivery its receiver and subject, for a keyed submission the key; otherwise empty.
    """
    conversation_id: str | None
    """
    Conversation of its run; null: none.
    """
    parent_request_id: str | None
    """
    Id of the request whose run started this one; null: started by a caller.
    """
    waiting_for: list[Literal['approval', 'budget', 'question'] | str]
    """
    Kinds of open questions to a person.
    """
    begins_at: str | None = None
    """
    Earliest start (UTC) of its run or open directives. Absent or past: it may begin.
    """
    scores: list[RequestListingRequestsItemScoresItem] | None = None
    """
    Newest score of each name, at most 16. Absent: none.
    """
    archived: Literal[True] | None = None
    """
    Present where the request has expired, and `GET /v1/requests/{r}/archive` still has it. Absent: not expired.
    """
    tenant: str | None = None
    """
    Tenant of the entry. Present in lists of all tenants.
    """
    tokens: RequestListingRequestsItemTokens | None
    """
    Token usage of its run; null: it has none.
    """
    cost: float | None
    """
    Cost of its run in USD; null: it has none, or the price of a used model is unknown.
    """


class RequestListingCountsStatus(Model):
    open: int
    """
    Number of open requests in progress.
    """
    waiting: int
    """
    Number of requests that wait for a person.
    """
    succeeded: int
    """
    Number of requests that succeeded.
    """
    failed: int
    """
    Number of requests that failed.
    """
    cancelled: int
    """
    Number of requests that were cancelled.
    """


class RequestListingCountsErrorTypesItem(Model):
    type: str
    """
    Type of the error.
    """
    requests: int
    """
    Number of requests with this error.
    """


class RequestListingCountsStoredBytes(Model):
    used: int
    """
    Number of bytes used.
    """
    limit: int
    """
    Maximum number of bytes.
    """


class RequestListingCounts(Model):
    total: int
    """
    Number of all requests.
    """
    status: Annotated[
        RequestListingCountsStatus, Field(title='RequestListingCountsStatus')
    ]
    """
    Number of requests by status.
    """
    error_types: list[RequestListingCountsErrorTypesItem]
    """
    The 50 most frequent types of errors.
    """
    stored_bytes: Annotated[
        RequestListingCountsStoredBytes | None,
        Field(title='RequestListingCountsStoredBytes'),
    ] = None
    """
    Storage of all requests, where the tenant has a limit; at most about a second old.
    """


class RequestListing(Model):
    requests: list[RequestListingRequestsItem]
    """
    Requests of this page, newest first.
    """
    next: str | None
    """
    Cursor of the next page; null: this page is the last one.
    """
    searched_until: str | None
    """
    Instant (UTC) at which a search stopped because it took too long; `next` continues with older requests. null: it did not stop early.
    """
    counts: Annotated[RequestListingCounts, Field(title='RequestListingCounts')]
    """
    Number of the tenant's requests, whatever the filter.
    """
    lag_ms: int
    """
    Age of the oldest change that the list does not show yet, in milliseconds.
    """
    incomplete: bool | None = None
    """
    Whether the list is being built, for example after an upgrade, so that older requests may be missing. Absent: unknown.
    """


class RequestViewDirectivesItemWaiting(Model):
    reason: str
    """
    Reason of the wait. A later version may add others.
    """
    since: str | None = None
    """
    Instant (UTC) from which the directive has waited for its first success: its acceptance or earliest start, else the start of its first attempt; for `worker_lost` the end of the lease. Absent: unknown.
    """
    until: str | None
    """
    Instant (UTC) of the next attempt; null: unknown.
    """
    message: str
    """
    Explanation of the wait, at most 512 characters.
    """


class RequestViewDirectivesItemInputsItem(Model):
    input_id: str
    """
    Id of the question within its request, at most 256 characters.
    """
    key: str | None = None
    """
    Name of the question at its server, at most 256 characters. Absent: none.
    """
    mode: Literal['form', 'url'] | str
    """
    Form of the question. `form`: the answer is an object that satisfies `schema`. `url`: the person opens `url`, and the answer confirms it.
    """
    message: str
    """
    Question to the person, at most 8,192 characters. Untrusted text of the server.
    """
    schema_: Annotated[dict[str, Any] | None, Field(alias='schema')] = None
    """
    JSON Schema of the answer, for `form`.
    """
    url: str | None = None
    """
    Address for the person to open, at most 4,096 characters, for `url`. The service never fetches it.
    """
    deadline_at: str
    """
    Instant (UTC) at which the question is declined without an answer.
    """


class RequestViewDirectivesItemNoticesItem(Model):
    endpoint: str | None
    """
    Name of the endpoint, or `url:` with a hash of the caller's address; null: no delivery has been accepted yet.
    """
    status: str
    """
    State of the delivery. `waiting`: another attempt follows. `delivered`. `dead`: failed, and listed as a dead letter. `failed`: ended otherwise, for example cancelled. A later version may add others.
    """
    attempts: int
    """
    Number of attempts.
    """
    next_attempt_at: str | None
    """
    Instant (UTC) of the next attempt; null: immediately, or never.
    """
    ended_at: str | None
    """
    Instant (UTC) of the end; null: not ended.
    """
    error: str | None
    """
    Type of the error that ended the delivery; null: not ended, or without an error.
    """
    reason: str | None = None
    """
    Reason why the event is not delivered: its last failure, or a wait, at most 512 characters. Absent: no attempt has failed.
    """
    request_id: str
    """
    Id of the delivery's request; after a redrive the newest.
    """
    id: str | None
    """
    Id of the delivery's directive; null: no delivery has been accepted yet.
    """
    url: str
    """
    Path of the delivery at the API.
    """


class RequestViewDirectivesItem(Model):
    id: str
    """
    Id of the directive.
    """
    type: Literal['tool_exec', 'llm_stream', 'llm_generate', 'llm_embed', 'llm_request', 'emit_tool_error', 'emit_tool_result', 'emit_request_error'] | str
    """
    Type of the directive.
    """
    request_id: str
    """
    Id of the request.
    """
    status: Literal['accepted', 'running', 'waiting', 'succeeded', 'failed'] | str
    """
    State of the directive.
    """
    lane: str | None
    """
    Lane of the directive; null: none.
    """
    attempts: int
    """
    Number of attempts.
    """
    failures: int
    """
    Number of failed attempts that were retried, or will be.
    """
    redeliveries: int
    """
    Number of redeliveries after the death of a worker.
    """
    accepted_at: str
    """
    Instant (UTC) of the acceptance.
    """
    started_at: str | None
    """
    Instant (UTC) of the first attempt; null: not started.
    """
    ended_at: str | None
    """
    Instant (UTC) of the end; null: not ended.
    """
    deadline_at: str
    """
    Instant (UTC) by which the directive ends at the latest.
    """
    next_attempt_at: str | None
    """
    Instant (UTC) of the next attempt; null: none is scheduled.
    """
    begins_at: str | None = None
    """
    Earliest start (UTC) that the caller asked for.
    """
    start_by_at: str | None = None
    """
    Latest start (UTC); after it the directive ends as `expired`.
    """
    digest: str
    """
    Digest of the content, by which a repeat is recognized.
    """
    waiting: Annotated[
        RequestViewDirectivesItemWaiting | None,
        Field(title='RequestViewDirectivesItemWaiting'),
    ] = None
    """
    Reason why the directive makes no progress. Absent: it is in flight, has ended, or will be dequeued soon.
    """
    inputs: list[RequestViewDirectivesItemInputsItem] | None = None
    """
    Open questions of its tool. Absent: none.
    """
    notices: list[RequestViewDirectivesItemNoticesItem] | None = None
    """
    Deliveries of the end to webhooks. Absent: none.
    """


class RequestViewNoticesItem(Model):
    endpoint: str | None
    """
    Name of the endpoint, or `url:` with a hash of the caller's address; null: no delivery has been accepted yet.
    """
    status: str
    """
    State of the delivery. `waiting`: another attempt follows. `delivered`. `dead`: failed, and listed as a dead letter. `failed`: ended otherwise, for example cancelled. A later version may add others.
    """
    attempts: int
    """
    Number of attempts.
    """
    next_attempt_at: str | None
    """
    Instant (UTC) of the next attempt; null: immediately, or never.
    """
    ended_at: str | None
    """
    Instant (UTC) of the end; null: not ended.
    """
    error: str | None
    """
    Type of the error that ended the delivery; null: not ended, or without an error.
    """
    reason: str | None = None
    """
    Reason why the event is not delivered: its last failure, or a wait, at most 512 characters. Absent: no attempt has failed.
    """
    request_id: str
    """
    Id of the delivery's request; after a redrive the newest.
    """
    id: str | None
    """
    Id of the delivery's directive; null: no delivery has been accepted yet.
    """
    url: str
    """
    Path of the delivery at the API.
    """


class ResultSucceeded(Model):
    ok: Literal[True] = True
    """
    Whether the directive succeeded: it did.
    """
    payload: Any
    """
    Result, any JSON value.
    """
    effects: list[Any]
    """
    Control directives of a tool's result.
    """


class ResultFailed(Model):
    ok: Literal[False] = False
    """
    Whether the directive succeeded: it did not.
    """
    error: ErrorEnvelope
    """
    Error that ended the directive.
    """
    effects: list[Any]
    """
    Control directives of a tool's result.
    """


Result = TypeAliasType(
    "Result", Annotated[ResultSucceeded | ResultFailed, Field(title='Result')]
)


class RunInputBodyContent2Encrypted(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    codec: str
    """
    Name of the encryption, such as `A256GCM`. 1 to 32 characters of A-Z a-z 0-9 . _ -
    """
    key_id: str
    """
    Id of the key that the value is encrypted with. 1 to 64 characters of A-Z a-z 0-9 . _ -
    """
    data: str
    """
    Ciphertext as base64url.
    """
    digest: str
    """
    Keyed hash of the value and its place, 16 to 48 bytes as base64url, by which a repeat is recognized.
    """


class RunInputBodyContent2(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    field_encrypted: Annotated[
        RunInputBodyContent2Encrypted,
        Field(alias='$encrypted', title='RunInputBodyContent2Encrypted'),
    ]
    """
    Envelope of the encrypted value.
    """


class RunInputBody(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    input_id: str | None = None
    """
    Id of the input; the same id is the same input. Default: generated.
    """
    content: str | RunInputBodyContent2
    """
    Text that the run reads before its next model call, at most 1,000,000 characters, or that text encrypted for its id.
    """
    source: str | None = None
    """
    Origin of the input, at most 128 characters. Default: none.
    """


class RunViewWaitingForItem(Model):
    kind: Literal['model', 'tool', 'approval', 'budget', 'timer', 'child', 'turn'] | str
    """
    Kind of the awaited event.
    """
    id: str
    """
    Id of the awaited call, timer or child.
    """
    name: str | None = None
    """
    Name of the awaited tool or model.
    """
    until: str | None = None
    """
    Latest end of the wait (UTC).
    """


class RunViewMessagesItem(Model):
    model_config = ConfigDict(
        extra='allow',
    )
    __annotations__ = {
        '__pydantic_extra__': Dict[str, Any],
    }
    role: Literal['system', 'user', 'assistant', 'tool'] | str
    """
    Role of the message.
    """


class RunViewChildrenItem(Model):
    tag: str
    """
    Name of the child within its parent's run.
    """
    request_id: str
    """
    Id of the child's request.
    """
    status: str
    """
    Status of the child's run.
    """


class RunViewOrigin(Model):
    request_id: str
    """
    Id of the request that it comes from.
    """
    kind: Literal['again', 'fork'] | str
    """
    `again`: run again; `fork`: continued from one of its turns.
    """
    turn: int | None = None
    """
    Turn of the original before which the fork begins, from 1. Absent: run again.
    """


class SignalAgentChildExitData(Model):
    tag: str
    """
    Name of the child within its parent's run.
    """
    child_request_id: str
    """
    Id of the child's request.
    """
    status: str
    """
    Status of the child's run at its end.
    """
    result: Any
    """
    Result of the child; null: none.
    """
    error: Any
    """
    Error of the child; null: none.
    """
    metadata: dict[str, Any]
    """
    Metadata of the directive or run, copied from its submission. Default: {}.
    """


class SignalAgentChildExit(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['agent.child.exit'] = 'agent.child.exit'
    """
    Type of the signal.
    """
    source: Literal['/agent'] = '/agent'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[SignalAgentChildExitData, Field(title='SignalAgentChildExitData')]
    """
    Data of the signal.
    """


class SignalAgentChildStartedData(Model):
    tag: str
    """
    Name of the child within its parent's run.
    """
    child_request_id: str
    """
    Id of the child's request.
    """
    agent: str
    """
    Name of the agent that the child runs.
    """
    metadata: dict[str, Any]
    """
    Metadata of the directive or run, copied from its submission. Default: {}.
    """


class SignalAgentChildStarted(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['agent.child.started'] = 'agent.child.started'
    """
    Type of the signal.
    """
    source: Literal['/agent'] = '/agent'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[
        SignalAgentChildStartedData, Field(title='SignalAgentChildStartedData')
    ]
    """
    Data of the signal.
    """


class SignalAgentErrorData(Model):
    error: Any
    """
    Error, any JSON value.
    """
    context: Any
    """
    Context of the error, any JSON value.
    """
    metadata: dict[str, Any]
    """
    Metadata of the directive or run, copied from its submission. Default: {}.
    """


class SignalAgentError(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['agent.error'] = 'agent.error'
    """
    Type of the signal.
    """
    source: Literal['/agent'] = '/agent'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[SignalAgentErrorData, Field(title='SignalAgentErrorData')]
    """
    Data of the signal.
    """


class SignalAgentParentExitData(Model):
    parent_request_id: str
    """
    Id of the parent's request.
    """
    reason: str
    """
    Reason why the parent ended.
    """
    metadata: dict[str, Any]
    """
    Metadata of the directive or run, copied from its submission. Default: {}.
    """


class SignalAgentParentExit(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['agent.parent.exit'] = 'agent.parent.exit'
    """
    Type of the signal.
    """
    source: Literal['/agent'] = '/agent'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[SignalAgentParentExitData, Field(title='SignalAgentParentExitData')]
    """
    Data of the signal.
    """


class SignalAgentPhaseChangedData(Model):
    call_id: str
    """
    Id of the tool call that asked for the change.
    """
    phase: str
    """
    Phase from now on.
    """
    previous: str | None
    """
    Phase before; null: none.
    """
    metadata: dict[str, Any]
    """
    Metadata of the directive or run, copied from its submission. Default: {}.
    """


class SignalAgentPhaseChanged(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['agent.phase_changed'] = 'agent.phase_changed'
    """
    Type of the signal.
    """
    source: Literal['/agent'] = '/agent'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[
        SignalAgentPhaseChangedData, Field(title='SignalAgentPhaseChangedData')
    ]
    """
    Data of the signal.
    """


class SignalAgentScheduledData(Model):
    timer_id: str
    """
    Id of the timer.
    """
    message: Any
    """
    Message of the timer, any JSON value.
    """
    metadata: dict[str, Any]
    """
    Metadata of the directive or run, copied from its submission. Default: {}.
    """


class SignalAgentScheduled(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['agent.scheduled'] = 'agent.scheduled'
    """
    Type of the signal.
    """
    source: Literal['/agent'] = '/agent'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[SignalAgentScheduledData, Field(title='SignalAgentScheduledData')]
    """
    Data of the signal.
    """


class SignalAgentTierChangedData(Model):
    call_id: str
    """
    Id of the tool call that asked for the change.
    """
    tier: str
    """
    Model alias from now on.
    """
    previous: str | None
    """
    Model alias before; null: the model of the agent.
    """
    reason: str
    """
    Reason of the change.
    """
    task_state: str | None = None
    """
    State of the task at the handoff, in the words of the tool, as in `plan_ready`. Absent: the tool gave none.
    """
    metadata: dict[str, Any]
    """
    Metadata of the directive or run, copied from its submission. Default: {}.
    """


class SignalAgentTierChanged(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['agent.tier_changed'] = 'agent.tier_changed'
    """
    Type of the signal.
    """
    source: Literal['/agent'] = '/agent'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[
        SignalAgentTierChangedData, Field(title='SignalAgentTierChangedData')
    ]
    """
    Data of the signal.
    """


class SignalEmbedResultData(Model):
    call_id: str
    """
    Id of the directive that the signal reports on.
    """
    result: Result
    """
    Result: embeddings, or an error.
    """
    metadata: dict[str, Any]
    """
    Metadata of the directive or run, copied from its submission. Default: {}.
    """


class SignalEmbedResult(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['ai.embed.result'] = 'ai.embed.result'
    """
    Type of the signal.
    """
    source: Literal['/ai/embed'] = '/ai/embed'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[SignalEmbedResultData, Field(title='SignalEmbedResultData')]
    """
    Data of the signal.
    """


class SignalLlmDeltaData(Model):
    call_id: str
    """
    Id of the directive that the signal reports on.
    """
    delta: Any
    """
    Chunk of the answer: text, or a fragment of a tool call.
    """
    chunk_type: Literal['content', 'thinking', 'tool_call'] | str
    """
    Kind of the chunk.
    """
    seq: int | None = None
    """
    Number of the chunk within its attempt, from 0.
    """
    metadata: dict[str, Any]
    """
    Metadata of the directive or run, copied from its submission. Default: {}.
    """


class SignalLlmDelta(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['ai.llm.delta'] = 'ai.llm.delta'
    """
    Type of the signal.
    """
    source: Literal['/ai/llm'] = '/ai/llm'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[SignalLlmDeltaData, Field(title='SignalLlmDeltaData')]
    """
    Data of the signal.
    """


class SignalLlmRawDataText2Encrypted(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    codec: str
    """
    Name of the encryption, such as `A256GCM`. 1 to 32 characters of A-Z a-z 0-9 . _ -
    """
    key_id: str
    """
    Id of the key that the value is encrypted with. 1 to 64 characters of A-Z a-z 0-9 . _ -
    """
    data: str
    """
    Ciphertext as base64url.
    """
    digest: str
    """
    Keyed hash of the value and its place, 16 to 48 bytes as base64url, by which a repeat is recognized.
    """


class SignalLlmRawDataText2(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    field_encrypted: Annotated[
        SignalLlmRawDataText2Encrypted,
        Field(alias='$encrypted', title='SignalLlmRawDataText2Encrypted'),
    ]
    """
    Envelope of the encrypted value.
    """


class SignalLlmRawDataHead(Model):
    status: int
    """
    HTTP status of the provider's answer.
    """
    headers: dict[str, str]
    """
    Headers of the provider's answer that are passed on: content type, request id, rate limits.
    """


class SignalLlmRawData(Model):
    call_id: str
    """
    Id of the directive that the signal reports on.
    """
    text: str | SignalLlmRawDataText2
    """
    Text of the stream, which follows that of the signal before it of the same attempt, or that text encrypted.
    """
    seq: int | None = None
    """
    Number of the signal within its attempt, from 0.
    """
    head: Annotated[
        SignalLlmRawDataHead | None, Field(title='SignalLlmRawDataHead')
    ] = None
    """
    Status and headers of the answer. Present in the first signal of an attempt.
    """
    metadata: dict[str, Any]
    """
    Metadata of the directive or run, copied from its submission. Default: {}.
    """


class SignalLlmRaw(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['ai.llm.raw'] = 'ai.llm.raw'
    """
    Type of the signal.
    """
    source: Literal['/ai/llm'] = '/ai/llm'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[SignalLlmRawData, Field(title='SignalLlmRawData')]
    """
    Data of the signal.
    """


class SignalRequestCancelRequestedData(Model):
    request_id: str
    """
    Id of the request.
    """
    reason: str | None
    """
    Reason of the cancellation; null: none given.
    """


class SignalRequestCancelRequested(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['ai.request.cancel_requested'] = 'ai.request.cancel_requested'
    """
    Type of the signal.
    """
    source: Literal['/ai/request'] = '/ai/request'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[
        SignalRequestCancelRequestedData,
        Field(title='SignalRequestCancelRequestedData'),
    ]
    """
    Data of the signal.
    """


class SignalRequestCompletedData(Model):
    request_id: str
    """
    Id of the request.
    """
    result: Any
    """
    Result of the run.
    """
    run_id: str | None = None
    """
    Id of the run.
    """
    termination_reason: str | None = None
    """
    Reason why the run ended, such as `final_answer`, `length` (the answer of the model was cut off) or `max_iterations`; for a failure the type of the error.
    """
    details: dict[str, Any] | None = None
    """
    Details beside the result: `coverage_gap`, `gap_description` and `suggested_files` of a tool's `complete`.
    """
    unread_inputs: list[str] | None = None
    """
    Ids of accepted inputs that the run did not read or answer before its end. Absent: none.
    """


class SignalRequestCompleted(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['ai.request.completed'] = 'ai.request.completed'
    """
    Type of the signal.
    """
    source: Literal['/ai/request'] = '/ai/request'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[
        SignalRequestCompletedData, Field(title='SignalRequestCompletedData')
    ]
    """
    Data of the signal.
    """


class SignalRequestErrorData(Model):
    request_id: str
    """
    Id of the request.
    """
    reason: str
    """
    Type of the error.
    """
    message: str
    """
    Explanation of the error.
    """
    metadata: dict[str, Any]
    """
    Metadata of the directive or run, copied from its submission. Default: {}.
    """


class SignalRequestError(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['ai.request.error'] = 'ai.request.error'
    """
    Type of the signal.
    """
    source: Literal['/ai/strategy'] = '/ai/strategy'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[SignalRequestErrorData, Field(title='SignalRequestErrorData')]
    """
    Data of the signal.
    """


class SignalRequestFailedData(Model):
    request_id: str
    """
    Id of the request.
    """
    error: Any
    """
    Error of the run, an error envelope.
    """
    run_id: str | None = None
    """
    Id of the run.
    """
    termination_reason: str | None = None
    """
    Reason why the run ended, such as `final_answer`, `length` (the answer of the model was cut off) or `max_iterations`; for a failure the type of the error.
    """
    unread_inputs: list[str] | None = None
    """
    Ids of accepted inputs that the run did not read or answer before its end. Absent: none.
    """


class SignalRequestFailed(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['ai.request.failed'] = 'ai.request.failed'
    """
    Type of the signal.
    """
    source: Literal['/ai/request'] = '/ai/request'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[SignalRequestFailedData, Field(title='SignalRequestFailedData')]
    """
    Data of the signal.
    """


class SignalRequestInputData(Model):
    request_id: str
    """
    Id of the request.
    """
    input_id: str
    """
    Id of the input.
    """
    content: str
    """
    Text of the input.
    """
    input_source: str | None = None
    """
    Origin of the input. Absent: unknown.
    """


class SignalRequestInput(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['ai.request.input'] = 'ai.request.input'
    """
    Type of the signal.
    """
    source: Literal['/ai/request'] = '/ai/request'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[SignalRequestInputData, Field(title='SignalRequestInputData')]
    """
    Data of the signal.
    """


class SignalRequestResumedDataOverridesLimits(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    max_iterations: int | None = None
    """
    Maximum number of model turns of a run, 1 to 1,000. Default of an agent: 10; of a run: as its agent.
    """
    max_tool_calls: int | None = None
    """
    Maximum number of tool calls of a run; null: no limit. Default of an agent: null; of a run: as its agent.
    """
    max_tokens: int | None = None
    """
    Maximum number of model tokens (input and output) of a run; null: no limit. Default of an agent: null; of a run: as its agent.
    """
    max_cost: float | None = None
    """
    Maximum cost of a run in USD, computed from the prices in the configuration; null: no limit. Default of an agent: null; of a run: as its agent.
    """
    deadline_ms: int | None = None
    """
    Time from the start of a run to its end, in milliseconds, without the time in which it waits for a decision of a person. Default of an agent: 3,600,000 (one hour); of a run: as its agent.
    """
    parallel_tool_calls: int | None = None
    """
    Maximum number of tool calls of a run in flight, 1 to 100. Default of an agent: 4; of a run: as its agent.
    """
    max_pending: int | None = None
    """
    Maximum number of open directives of a run; a batch that exceeds it is refused together with its state change. Default of an agent: 10,000; of a run: as its agent.
    """


class SignalRequestResumedDataOverrides(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    model: str | None = None
    """
    Model as `provider:model`. Default: the model of the agent.
    """
    model_alias: str | None = None
    """
    Alias of the model. Default: the alias of the agent.
    """
    limits: Annotated[
        SignalRequestResumedDataOverridesLimits | None,
        Field(title='SignalRequestResumedDataOverridesLimits'),
    ] = None
    """
    Limits of the run. Default: the limits of the agent.
    """


class SignalRequestResumedDataInput(Model):
    input_id: str
    """
    Id of the input.
    """
    content: str
    """
    Text that the run reads before its next model call.
    """


class SignalRequestResumedDataDecisionsValueRepeat(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    action: Literal['repeat'] = 'repeat'
    """
    The call is made again, and may act twice.
    """


class SignalRequestResumedDataDecisionsValueSkip(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    action: Literal['skip'] = 'skip'
    """
    The call is not made again; the run reads an error.
    """


class SignalRequestResumedDataDecisionsValueDone(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    action: Literal['done'] = 'done'
    """
    The call counts as successful with `result`, and is not made again.
    """
    result: Any
    """
    Result that the run reads, any JSON value. Default: null.
    """


class SignalRequestResumedData(Model):
    request_id: str
    """
    Id of the request.
    """
    resumed: int
    """
    Number of resumes of the run, this one included.
    """
    overrides: Annotated[
        SignalRequestResumedDataOverrides | None,
        Field(title='SignalRequestResumedDataOverrides'),
    ] = None
    """
    Changes to the agent from here on. Absent: none.
    """
    input: Annotated[
        SignalRequestResumedDataInput | None,
        Field(title='SignalRequestResumedDataInput'),
    ] = None
    """
    Input that came with the resume. Absent: none.
    """
    decisions: dict[str, SignalRequestResumedDataDecisionsValueRepeat | SignalRequestResumedDataDecisionsValueSkip | SignalRequestResumedDataDecisionsValueDone] | None = (
        None
    )
    """
    Decisions about calls of unknown outcome, by the id of the call. Absent: none.
    """


class SignalRequestResumed(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['ai.request.resumed'] = 'ai.request.resumed'
    """
    Type of the signal.
    """
    source: Literal['/ai/request'] = '/ai/request'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[SignalRequestResumedData, Field(title='SignalRequestResumedData')]
    """
    Data of the signal.
    """


class SignalRequestStartedDataOrigin(Model):
    request_id: str
    """
    Id of the request that it comes from.
    """
    kind: Literal['again', 'fork'] | str
    """
    `again`: run again; `fork`: continued from one of its turns.
    """
    turn: int | None = None
    """
    Turn of the original before which the fork begins, from 1. Absent: run again.
    """


class SignalRequestStartedData(Model):
    request_id: str
    """
    Id of the request.
    """
    query: str
    """
    Task of the run, as text.
    """
    run_id: str | None = None
    """
    Id of the run.
    """
    origin: Annotated[
        SignalRequestStartedDataOrigin | None,
        Field(title='SignalRequestStartedDataOrigin'),
    ] = None
    """
    Request that the run repeats or was forked from. Absent: none.
    """


class SignalRequestStarted(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['ai.request.started'] = 'ai.request.started'
    """
    Type of the signal.
    """
    source: Literal['/ai/request'] = '/ai/request'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[SignalRequestStartedData, Field(title='SignalRequestStartedData')]
    """
    Data of the signal.
    """


class SignalToolApprovalDecidedData(Model):
    call_id: str
    """
    Id of the call that the decision concerns.
    """
    decision: Literal['approve', 'deny'] | str
    """
    Decision about the call.
    """
    reason: str | None = None
    """
    Reason of the decision.
    """
    arguments: dict[str, Any] | None = None
    """
    Arguments that replace those of the call, with secrets redacted. Absent: unchanged.
    """
    by: str | None = None
    """
    Name of the deciding person, as the caller stated it.
    """


class SignalToolApprovalDecided(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['ai.tool.approval_decided'] = 'ai.tool.approval_decided'
    """
    Type of the signal.
    """
    source: Literal['/ai/tool'] = '/ai/tool'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[
        SignalToolApprovalDecidedData, Field(title='SignalToolApprovalDecidedData')
    ]
    """
    Data of the signal.
    """


class SignalToolApprovalRequestedData(Model):
    call_id: str
    """
    Id of the directive or tool call that the signal reports on.
    """
    tool_name: str
    """
    Name of the tool, `tool` or `server.tool`.
    """
    arguments: Any | None = None
    """
    Arguments of the call, with secrets redacted.
    """
    reason: str | None = None
    """
    Reason why approval is required.
    """
    deadline_at: str | None = None
    """
    Instant (UTC) at which the call is denied without a decision.
    """
    metadata: dict[str, Any]
    """
    Metadata of the directive or run, copied from its submission. Default: {}.
    """


class SignalToolApprovalRequested(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['ai.tool.approval_requested'] = 'ai.tool.approval_requested'
    """
    Type of the signal.
    """
    source: Literal['/ai/tool'] = '/ai/tool'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[
        SignalToolApprovalRequestedData, Field(title='SignalToolApprovalRequestedData')
    ]
    """
    Data of the signal.
    """


class SignalToolInputAnsweredData(Model):
    call_id: str
    """
    Id of the directive or tool call that the signal reports on.
    """
    tool_name: str
    """
    Name of the tool, `tool` or `server.tool`.
    """
    input_id: str
    """
    Id of the question.
    """
    action: Literal['accept', 'decline', 'cancel'] | str
    """
    Action of the answering person.
    """
    cause: Literal['answer', 'deadline', 'withdrawn'] | str
    """
    Cause of the question's end: an answer, the deadline, or a withdrawal by the tool.
    """
    by: str | None = None
    """
    Name of the answering person, as the caller stated it.
    """
    metadata: dict[str, Any]
    """
    Metadata of the directive or run, copied from its submission. Default: {}.
    """


class SignalToolInputAnswered(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['ai.tool.input_answered'] = 'ai.tool.input_answered'
    """
    Type of the signal.
    """
    source: Literal['/ai/tool'] = '/ai/tool'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[
        SignalToolInputAnsweredData, Field(title='SignalToolInputAnsweredData')
    ]
    """
    Data of the signal.
    """


class SignalToolInputRequestedData(Model):
    call_id: str
    """
    Id of the directive or tool call that the signal reports on.
    """
    tool_name: str
    """
    Name of the tool, `tool` or `server.tool`.
    """
    input_id: str
    """
    Id of the question within its request, at most 256 characters.
    """
    key: str | None = None
    """
    Name of the question at its server, at most 256 characters. Absent: none.
    """
    mode: Literal['form', 'url'] | str
    """
    Form of the question. `form`: the answer is an object that satisfies `schema`. `url`: the person opens `url`, and the answer confirms it.
    """
    message: str
    """
    Question to the person, at most 8,192 characters. Untrusted text of the server.
    """
    schema_: Annotated[dict[str, Any] | None, Field(alias='schema')] = None
    """
    JSON Schema of the answer, for `form`.
    """
    url: str | None = None
    """
    Address for the person to open, at most 4,096 characters, for `url`. The service never fetches it.
    """
    deadline_at: str
    """
    Instant (UTC) at which the question is declined without an answer.
    """
    metadata: dict[str, Any]
    """
    Metadata of the directive or run, copied from its submission. Default: {}.
    """


class SignalToolInputRequested(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['ai.tool.input_requested'] = 'ai.tool.input_requested'
    """
    Type of the signal.
    """
    source: Literal['/ai/tool'] = '/ai/tool'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[
        SignalToolInputRequestedData, Field(title='SignalToolInputRequestedData')
    ]
    """
    Data of the signal.
    """


class SignalToolProgressData(Model):
    call_id: str
    """
    Id of the directive or tool call that the signal reports on.
    """
    tool_name: str
    """
    Name of the tool, `tool` or `server.tool`.
    """
    progress: float
    """
    Progress of the call, in units of the tool.
    """
    total: float | None = None
    """
    Value of `progress` at completion. Absent: unknown.
    """
    message: str | None = None
    """
    Description of the progress.
    """
    metadata: dict[str, Any]
    """
    Metadata of the directive or run, copied from its submission. Default: {}.
    """


class SignalToolProgress(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['ai.tool.progress'] = 'ai.tool.progress'
    """
    Type of the signal.
    """
    source: Literal['/ai/tool'] = '/ai/tool'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[SignalToolProgressData, Field(title='SignalToolProgressData')]
    """
    Data of the signal.
    """


class SignalToolResultData(Model):
    call_id: str
    """
    Id of the directive or tool call that the signal reports on.
    """
    tool_name: str
    """
    Name of the tool, `tool` or `server.tool`.
    """
    result: Result
    """
    Result of the call.
    """
    content: str | None = None
    """
    Text of the result, as the model reads it.
    """
    metadata: dict[str, Any]
    """
    Metadata of the directive or run, copied from its submission. Default: {}.
    """


class SignalToolResult(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['ai.tool.result'] = 'ai.tool.result'
    """
    Type of the signal.
    """
    source: Literal['/ai/tool'] = '/ai/tool'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[SignalToolResultData, Field(title='SignalToolResultData')]
    """
    Data of the signal.
    """


class SignalToolStartedData(Model):
    call_id: str
    """
    Id of the directive or tool call that the signal reports on.
    """
    tool_name: str
    """
    Name of the tool, `tool` or `server.tool`.
    """
    arguments: Any | None = None
    """
    Arguments of the call, with secrets redacted.
    """
    metadata: dict[str, Any]
    """
    Metadata of the directive or run, copied from its submission. Default: {}.
    """


class SignalToolStarted(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['ai.tool.started'] = 'ai.tool.started'
    """
    Type of the signal.
    """
    source: Literal['/ai/tool'] = '/ai/tool'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[SignalToolStartedData, Field(title='SignalToolStartedData')]
    """
    Data of the signal.
    """


class SignalUsageData(Model):
    call_id: str
    """
    Id of the directive that the signal reports on.
    """
    model: str
    """
    Name of the model.
    """
    input_tokens: int
    """
    Number of input tokens.
    """
    output_tokens: int
    """
    Number of output tokens.
    """
    total_tokens: int | None = None
    """
    Number of all tokens.
    """
    duration_ms: float | None = None
    """
    Duration of the call, in milliseconds.
    """
    metadata: dict[str, Any]
    """
    Metadata of the directive or run, copied from its submission. Default: {}.
    """


class SignalUsage(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['ai.usage'] = 'ai.usage'
    """
    Type of the signal.
    """
    source: Literal['/ai/usage'] = '/ai/usage'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[SignalUsageData, Field(title='SignalUsageData')]
    """
    Data of the signal.
    """


class SignalCustom(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: str
    """
    Type of the signal, outside the families `ai.`, `agent.` and `directive.`.
    """
    source: str
    """
    CloudEvents source of the signal.
    """
    data: dict[str, Any]
    """
    Data of the signal.
    """


class SignalDirectiveIgnoredData(Model):
    call_id: str
    """
    Id of the directive that the signal reports on.
    """
    directive_type: str
    """
    Type of the ignored directive.
    """
    reason: str
    """
    Reason why it is ignored.
    """
    metadata: dict[str, Any]
    """
    Metadata of the directive or run, copied from its submission. Default: {}.
    """


class SignalDirectiveIgnored(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['directive.ignored'] = 'directive.ignored'
    """
    Type of the signal.
    """
    source: Literal['/directive'] = '/directive'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[
        SignalDirectiveIgnoredData, Field(title='SignalDirectiveIgnoredData')
    ]
    """
    Data of the signal.
    """


class SignalDirectivePolicyDecidedData(Model):
    call_id: str
    """
    Id of the directive that the signal reports on.
    """
    decision: Literal['allow', 'deny', 'ask'] | str
    """
    Decision about the call.
    """
    rule: str | None
    """
    Name of the rule that decided; null: the default of the policy.
    """
    input_digest: str
    """
    Digest of the content of the directive, as accepted.
    """
    models: list[str] | None = None
    """
    Models that were decided about: cheaper ones of a budget, or those that the tool of the directive asks. Absent: those of the directive.
    """
    reason: str | None = None
    """
    Reason of the rule. Absent: none.
    """
    failed: str | None = None
    """
    Why the rule could not be evaluated. Absent: it was evaluated.
    """
    metadata: dict[str, Any]
    """
    Metadata of the directive or run, copied from its submission. Default: {}.
    """


class SignalDirectivePolicyDecided(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['directive.policy_decided'] = 'directive.policy_decided'
    """
    Type of the signal.
    """
    source: Literal['/directive'] = '/directive'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[
        SignalDirectivePolicyDecidedData,
        Field(title='SignalDirectivePolicyDecidedData'),
    ]
    """
    Data of the signal.
    """


class SignalDirectiveReconciledData(Model):
    call_id: str
    """
    Id of the directive that the signal reports on.
    """
    outcome: Literal['happened', 'not_happened', 'unknown'] | str
    """
    `happened`: the directive ends as a success; `not_happened`: it is retried, or ends as a failure; `unknown`: it ends as `outcome_unknown`.
    """
    tool: str | None
    """
    Tool that was asked, `server.tool`; null: its settings are gone.
    """
    arguments_digest: str | None = None
    """
    Digest of its arguments; keyed where the directive is encrypted. Absent: it was not asked.
    """
    asked: int
    """
    How often it was asked after this loss.
    """
    at: str
    """
    Instant (UTC) of the finding.
    """
    cause: str
    """
    Type of the error of the lost call; `worker_lost`: its worker died, `stopped`: it stopped.
    """
    reason: str | None = None
    """
    Why the outcome is unknown. Absent: it is known.
    """
    metadata: dict[str, Any]
    """
    Metadata of the directive or run, copied from its submission. Default: {}.
    """


class SignalDirectiveReconciled(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['directive.reconciled'] = 'directive.reconciled'
    """
    Type of the signal.
    """
    source: Literal['/directive'] = '/directive'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[
        SignalDirectiveReconciledData, Field(title='SignalDirectiveReconciledData')
    ]
    """
    Data of the signal.
    """


class SignalDirectiveRejectedData(Model):
    call_id: str
    """
    Id of the directive that the signal reports on.
    """
    index: int
    """
    Position of the control directive in the tool's result, from 0.
    """
    directive_type: str | None
    """
    Type that the control directive gave; null: not a text.
    """
    reason: str
    """
    Reason of the rejection.
    """
    message: str | None = None
    """
    Explanation of the rejection.
    """
    metadata: dict[str, Any]
    """
    Metadata of the directive or run, copied from its submission. Default: {}.
    """


class SignalDirectiveRejected(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['directive.rejected'] = 'directive.rejected'
    """
    Type of the signal.
    """
    source: Literal['/directive'] = '/directive'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[
        SignalDirectiveRejectedData, Field(title='SignalDirectiveRejectedData')
    ]
    """
    Data of the signal.
    """


class SignalDirectiveResultData(Model):
    call_id: str
    """
    Id of the directive.
    """
    directive_type: str
    """
    Type of the directive.
    """
    result: Result
    """
    Result of the directive.
    """
    metadata: dict[str, Any]
    """
    Metadata of the directive or run, copied from its submission. Default: {}.
    """


class SignalDirectiveResult(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['directive.result'] = 'directive.result'
    """
    Type of the signal.
    """
    source: Literal['/directive'] = '/directive'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[SignalDirectiveResultData, Field(title='SignalDirectiveResultData')]
    """
    Data of the signal.
    """


class SignalDirectiveRetryScheduledData(Model):
    call_id: str
    """
    Id of the directive that the signal reports on.
    """
    error: ErrorEnvelope
    """
    Error of the failed attempt.
    """
    failures: int
    """
    Number of failed attempts so far.
    """
    max_retries: int
    """
    Maximum number of retries.
    """
    delay_ms: int
    """
    Delay before the next attempt, in milliseconds.
    """
    next_attempt_at: str
    """
    Instant (UTC) of the next attempt.
    """
    metadata: dict[str, Any]
    """
    Metadata of the directive or run, copied from its submission. Default: {}.
    """


class SignalDirectiveRetryScheduled(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['directive.retry_scheduled'] = 'directive.retry_scheduled'
    """
    Type of the signal.
    """
    source: Literal['/directive'] = '/directive'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[
        SignalDirectiveRetryScheduledData,
        Field(title='SignalDirectiveRetryScheduledData'),
    ]
    """
    Data of the signal.
    """


class SignalDirectiveWaitingData(Model):
    call_id: str
    """
    Id of the directive that the signal reports on.
    """
    lane: str
    """
    Lane of the directive; `run` for a run without an engine.
    """
    reason: str
    """
    Reason of the wait. A later version may add others.
    """
    since: str | None = None
    """
    Instant (UTC) from which the directive has waited for its first success: its acceptance or earliest start, else the start of its first attempt; for `worker_lost` the end of the lease. Absent: unknown.
    """
    until: str | None
    """
    Instant (UTC) of the next attempt; null: unknown.
    """
    message: str
    """
    Explanation of the wait, at most 512 characters.
    """
    pauses: int | None = None
    """
    Number of this pause of the directive at its current model or tool, after a call that was refused as `rate_limited`; counted from 1. Absent for other waits.
    """
    metadata: dict[str, Any]
    """
    Metadata of the directive or run, copied from its submission. Default: {}.
    """


class SignalDirectiveWaiting(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['directive.waiting'] = 'directive.waiting'
    """
    Type of the signal.
    """
    source: Literal['/directive'] = '/directive'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[
        SignalDirectiveWaitingData, Field(title='SignalDirectiveWaitingData')
    ]
    """
    Data of the signal.
    """


class StartRunBodyEncryptedEncrypted(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    codec: str
    """
    Name of the encryption, such as `A256GCM`. 1 to 32 characters of A-Z a-z 0-9 . _ -
    """
    key_id: str
    """
    Id of the key that the value is encrypted with. 1 to 64 characters of A-Z a-z 0-9 . _ -
    """
    data: str
    """
    Ciphertext as base64url.
    """
    digest: str
    """
    Keyed hash of the value and its place, 16 to 48 bytes as base64url, by which a repeat is recognized.
    """


class StartRunBodyEncrypted(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    field_encrypted: Annotated[
        StartRunBodyEncryptedEncrypted,
        Field(alias='$encrypted', title='StartRunBodyEncryptedEncrypted'),
    ]
    """
    Envelope of the encrypted value.
    """


class StartRunBodyOverridesLimits(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    max_iterations: int | None = None
    """
    Maximum number of model turns of a run, 1 to 1,000. Default of an agent: 10; of a run: as its agent.
    """
    max_tool_calls: int | None = None
    """
    Maximum number of tool calls of a run; null: no limit. Default of an agent: null; of a run: as its agent.
    """
    max_tokens: int | None = None
    """
    Maximum number of model tokens (input and output) of a run; null: no limit. Default of an agent: null; of a run: as its agent.
    """
    max_cost: float | None = None
    """
    Maximum cost of a run in USD, computed from the prices in the configuration; null: no limit. Default of an agent: null; of a run: as its agent.
    """
    deadline_ms: int | None = None
    """
    Time from the start of a run to its end, in milliseconds, without the time in which it waits for a decision of a person. Default of an agent: 3,600,000 (one hour); of a run: as its agent.
    """
    parallel_tool_calls: int | None = None
    """
    Maximum number of tool calls of a run in flight, 1 to 100. Default of an agent: 4; of a run: as its agent.
    """
    max_pending: int | None = None
    """
    Maximum number of open directives of a run; a batch that exceeds it is refused together with its state change. Default of an agent: 10,000; of a run: as its agent.
    """


class StartRunBodyOverrides(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    model: str | None = None
    """
    Model as `provider:model`. Default: the model of the agent.
    """
    model_alias: str | None = None
    """
    Alias of the model. Default: the alias of the agent.
    """
    system_prompt: str | None = None
    """
    System prompt. Default: the prompt of the agent.
    """
    allowed_tools: list[str] | None = None
    """
    Subset of the agent's tools that the run may call, as names or patterns; a name outside the agent's tools is an error. Default: all of them.
    """
    tool_context: dict[str, Any] | None = None
    """
    Context passed to each tool call. Default: the context of the agent.
    """
    max_tokens: int | None = None
    """
    Maximum number of output tokens of one model call. Default: as the agent defines.
    """
    temperature: float | None = None
    """
    Sampling temperature of model calls. Default: as the agent defines.
    """
    stream: bool | None = None
    """
    Whether answers are also published as delta signals. Default: as the agent defines.
    """
    limits: Annotated[
        StartRunBodyOverridesLimits | None, Field(title='StartRunBodyOverridesLimits')
    ] = None
    """
    Limits of the run. Default: the limits of the agent.
    """
    approvals: dict[str, Literal['auto', 'ask', 'deny']] | None = None
    """
    Approval mode by tool pattern. Default: the approvals of the agent.
    """
    busy: Literal['reject', 'queue', 'interrupt'] | None = None
    """
    Handling of a second run of the conversation while the first is in progress. Default: as the agent defines.
    """
    output_schema: dict[str, Any] | None = None
    """
    JSON Schema that the final answer satisfies. Default: none, the answer is text.
    """


class StartRunBodyMetadata(Model):
    model_config = ConfigDict(
        extra='allow',
    )
    __annotations__ = {
        '__pydantic_extra__': Dict[str, Any],
    }
    tags: list[str] | None = None
    """
    Texts by which the request is found, at most 16 of at most 64 characters each. Default: none.
    """


class StartRunBodyConcurrency(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Key that the limit counts by, 1 to 256 characters.
    """
    limit: int
    """
    Maximum number of directives in flight, 1 to 10,000.
    """


class StartRunBodyRate(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Key that the limit counts by, 1 to 256 characters.
    """
    max: int
    """
    Maximum number of starts per interval, 1 to 1,000,000.
    """
    per_ms: int
    """
    Length of the interval in milliseconds, 1 to 86,400,000 (one day).
    """


class StartRunBodyDedupe(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Deduplication key, 1 to 256 characters without control characters.
    """
    window_ms: int
    """
    Length of the window in milliseconds, at most one year.
    """


class StartRunBodyDebounce(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Debounce key, 1 to 256 characters without control characters.
    """
    quiet_ms: int
    """
    Quiet interval before the start, in milliseconds, at most one year.
    """
    at_most_ms: int | None = None
    """
    Maximum delay after the first submission, in milliseconds, at most one year. Default: no maximum.
    """


class StartRunBodySingleton(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Singleton key, 1 to 256 characters without control characters.
    """
    when_open: Literal['refuse', 'join', 'replace'] | None = None
    """
    Handling of a submission while another one is open: `refuse`, `join` it, or `replace` it. Default: `refuse`.
    """


class StartRunBodyOnEnd2(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    url: str
    """
    Address that receives the event, http or https, at most 2,048 characters.
    """


class StartRunBodyOnEnd2Item2(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    url: str
    """
    Address that receives the event, http or https, at most 2,048 characters.
    """


class StartRunBody(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    request_id: str | None = None
    """
    Id of the request; the same id with the same content is the same run. 1 to 128 characters of A-Z a-z 0-9 . _ : - Default: generated.
    """
    agent: str
    """
    Name of the agent to run.
    """
    query: str | None = None
    """
    Task of the run as text, at most 1,000,000 characters. One of `query`, `messages` and `encrypted` is required.
    """
    messages: list[Message] | None = None
    """
    Messages that the run starts with, as in the context of a model directive. Excludes `query`.
    """
    encrypted: Annotated[
        StartRunBodyEncrypted | None, Field(title='StartRunBodyEncrypted')
    ] = None
    """
    Encrypted query or messages, and encrypted `system_prompt` and `tool_context` of the overrides. Excludes `query` and `messages`.
    """
    conversation_id: str | None = None
    """
    Id of the conversation; its runs execute one after the other and share their history. Default: none.
    """
    overrides: Annotated[
        StartRunBodyOverrides | None, Field(title='StartRunBodyOverrides')
    ] = None
    """
    Changes to the agent for this run. Default: none.
    """
    metadata: Annotated[
        StartRunBodyMetadata | None, Field(title='StartRunBodyMetadata')
    ] = None
    """
    Caller's metadata, copied to the run's signals; `tags` holds at most 16 texts by which the request is found. Default: {}.
    """
    delay_ms: int | None = None
    """
    Delay before the earliest start, in milliseconds, 0 to 31,536,000,000 (one year). Excludes `run_at`. Default: 0.
    """
    run_at: str | None = None
    """
    Earliest start as RFC 3339 with an offset; a past instant means now. Excludes `delay_ms`. Default: now.
    """
    start_by_ms: int | None = None
    """
    Time between the earliest start and the latest start, in milliseconds, 1 to 31,536,000,000; after it the directive or run ends as `expired`. Default: only its deadline counts.
    """
    priority: int | None = None
    """
    Priority, 0 to 9; higher values are dequeued first, and each step is a head start of 30 seconds. Default: 4.
    """
    fairness_key: str | None = None
    """
    Key of fair sharing: a lane dequeues alternately from each key, 1 to 256 characters. Default: the tenant.
    """
    concurrency: Annotated[
        StartRunBodyConcurrency | None, Field(title='StartRunBodyConcurrency')
    ] = None
    """
    Limit of directives in flight in the lane that share a key. Default: none.
    """
    rate: Annotated[StartRunBodyRate | None, Field(title='StartRunBodyRate')] = None
    """
    Limit of directives started per interval in the lane that share a key. Default: none.
    """
    dedupe: Annotated[StartRunBodyDedupe | None, Field(title='StartRunBodyDedupe')] = (
        None
    )
    """
    Deduplication: within the window after an acceptance, a submission with the same key is the same directive, whatever its content. Default: none.
    """
    debounce: Annotated[
        StartRunBodyDebounce | None, Field(title='StartRunBodyDebounce')
    ] = None
    """
    Debounce: starts after a quiet interval, with the last submitted content. Default: none.
    """
    singleton: Annotated[
        StartRunBodySingleton | None, Field(title='StartRunBodySingleton')
    ] = None
    """
    Singleton: at most one directive or run with the key is open at a time. Default: none.
    """
    on_end: str | StartRunBodyOnEnd2 | list[str | StartRunBodyOnEnd2Item2] | None = None
    """
    Webhook endpoints, by name or address, that receive an event at the end; at most 8. Default: as the rules of the configuration define.
    """


class StartedRunOnceReplaces(Model):
    request_id: str
    """
    Id of the request of the cancelled directive.
    """
    id: str
    """
    Id of the cancelled directive.
    """


class StartedRunOnce(Model):
    outcome: Literal['began', 'deduplicated', 'debounced', 'joined', 'replaced'] | str
    """
    Outcome of the submission. `began`: first of its key. `deduplicated`: same as the first one of the window. `debounced`: replaced the content of an earlier one. `joined`: same as the open one. `replaced`: begins once the cancelled one has ended.
    """
    until: str
    """
    End of the window (UTC); for `debounce` the start without further submissions, for `singleton` the deadline of the open one.
    """
    replaces: Annotated[
        StartedRunOnceReplaces | None, Field(title='StartedRunOnceReplaces')
    ] = None
    """
    Directive that was cancelled in favour of this one.
    """


class StartedRunLinks(Model):
    request: str
    """
    Path of the request.
    """
    signals: str
    """
    Path of its signals.
    """


class StartedRun(Model):
    request_id: str
    """
    Id of the request.
    """
    run_id: str
    """
    Id of the run.
    """
    agent: str
    """
    Name of the agent.
    """
    status: Literal['pending', 'running', 'waiting', 'completed', 'failed', 'cancelled', 'timeout'] | str
    """
    Status of the run.
    """
    once: Annotated[StartedRunOnce | None, Field(title='StartedRunOnce')] = None
    """
    Outcome of `dedupe`, `debounce` or `singleton`; the ids are those of the run that represents the submission. Absent: started with none of them.
    """
    links: Annotated[StartedRunLinks, Field(title='StartedRunLinks')]
    """
    Paths of related resources.
    """


class SubmissionDirectivesItemOnceReplaces(Model):
    request_id: str
    """
    Id of the request of the cancelled directive.
    """
    id: str
    """
    Id of the cancelled directive.
    """


class SubmissionDirectivesItemOnce(Model):
    outcome: Literal['began', 'deduplicated', 'debounced', 'joined', 'replaced'] | str
    """
    Outcome of the submission. `began`: first of its key. `deduplicated`: same as the first one of the window. `debounced`: replaced the content of an earlier one. `joined`: same as the open one. `replaced`: begins once the cancelled one has ended.
    """
    until: str
    """
    End of the window (UTC); for `debounce` the start without further submissions, for `singleton` the deadline of the open one.
    """
    replaces: Annotated[
        SubmissionDirectivesItemOnceReplaces | None,
        Field(title='SubmissionDirectivesItemOnceReplaces'),
    ] = None
    """
    Directive that was cancelled in favour of this one.
    """


class SubmissionLinks(Model):
    request: str
    """
    Path of the request.
    """
    signals: str
    """
    Path of its signals.
    """


class EmitRequestErrorMetadata(Model):
    model_config = ConfigDict(
        extra='allow',
    )
    __annotations__ = {
        '__pydantic_extra__': Dict[str, Any],
    }
    tags: list[str] | None = None
    """
    Texts by which the request is found, at most 16 of at most 64 characters each. Default: none.
    """


class EmitRequestError(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    id: str | None = None
    """
    Id of the directive, unique within its request; the same id with the same content is the same directive. 1 to 128 characters of A-Z a-z 0-9 . _ : - Default: generated.
    """
    request_id: str | None = None
    """
    Id of the request that the directive belongs to. 1 to 128 characters of A-Z a-z 0-9 . _ : - Default: generated.
    """
    metadata: Annotated[
        EmitRequestErrorMetadata | None, Field(title='EmitRequestErrorMetadata')
    ] = None
    """
    Caller's metadata, copied to every signal of the directive; `tags` holds at most 16 texts by which the request is found. Default: {}.
    """
    type: Literal['emit_request_error'] = 'emit_request_error'
    """
    Type of the directive: publishes an error of a whole request.
    """
    reason: str
    """
    Type of the error.
    """
    message: str
    """
    Explanation of the error.
    """


class EmitToolErrorMetadata(Model):
    model_config = ConfigDict(
        extra='allow',
    )
    __annotations__ = {
        '__pydantic_extra__': Dict[str, Any],
    }
    tags: list[str] | None = None
    """
    Texts by which the request is found, at most 16 of at most 64 characters each. Default: none.
    """


class EmitToolError(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    id: str | None = None
    """
    Id of the directive, unique within its request; the same id with the same content is the same directive. 1 to 128 characters of A-Z a-z 0-9 . _ : - Default: generated.
    """
    request_id: str | None = None
    """
    Id of the request that the directive belongs to. 1 to 128 characters of A-Z a-z 0-9 . _ : - Default: generated.
    """
    metadata: Annotated[
        EmitToolErrorMetadata | None, Field(title='EmitToolErrorMetadata')
    ] = None
    """
    Caller's metadata, copied to every signal of the directive; `tags` holds at most 16 texts by which the request is found. Default: {}.
    """
    type: Literal['emit_tool_error'] = 'emit_tool_error'
    """
    Type of the directive: publishes an error as the result of a tool call.
    """
    tool_name: str
    """
    Name of the tool, `tool` or `server.tool`.
    """
    error: Any
    """
    Error of the tool, any JSON value.
    """


class EmitToolResultMetadata(Model):
    model_config = ConfigDict(
        extra='allow',
    )
    __annotations__ = {
        '__pydantic_extra__': Dict[str, Any],
    }
    tags: list[str] | None = None
    """
    Texts by which the request is found, at most 16 of at most 64 characters each. Default: none.
    """


class EmitToolResultResultSucceeded(Model):
    ok: Literal[True] = True
    """
    Whether the directive succeeded: it did.
    """
    payload: Any
    """
    Result, any JSON value.
    """
    effects: list[Any]
    """
    Control directives of a tool's result.
    """


class EmitToolResultResultFailedError(Model):
    type: str
    """
    Type of the error, such as `timeout`.
    """
    message: str
    """
    Explanation of the error for a person.
    """
    details: dict[str, Any]
    """
    Further fields of the error, depending on its type.
    """
    retryable: bool
    """
    Whether the same directive may succeed in another attempt.
    """


class EmitToolResultResultFailed(Model):
    ok: Literal[False] = False
    """
    Whether the directive succeeded: it did not.
    """
    error: Annotated[
        EmitToolResultResultFailedError, Field(title='EmitToolResultResultFailedError')
    ]
    """
    Error that ended the directive.
    """
    effects: list[Any]
    """
    Control directives of a tool's result.
    """


class EmitToolResult(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    id: str | None = None
    """
    Id of the directive, unique within its request; the same id with the same content is the same directive. 1 to 128 characters of A-Z a-z 0-9 . _ : - Default: generated.
    """
    request_id: str | None = None
    """
    Id of the request that the directive belongs to. 1 to 128 characters of A-Z a-z 0-9 . _ : - Default: generated.
    """
    metadata: Annotated[
        EmitToolResultMetadata | None, Field(title='EmitToolResultMetadata')
    ] = None
    """
    Caller's metadata, copied to every signal of the directive; `tags` holds at most 16 texts by which the request is found. Default: {}.
    """
    type: Literal['emit_tool_result'] = 'emit_tool_result'
    """
    Type of the directive: publishes a known result as the result of a tool call, without calling the tool.
    """
    tool_name: str
    """
    Name of the tool, `tool` or `server.tool`.
    """
    arguments: dict[str, Any] | None = None
    """
    Arguments of the call that the result answers. Default: unknown.
    """
    result: EmitToolResultResultSucceeded | EmitToolResultResultFailed
    """
    Result of the tool.
    """
    content: str | None = None
    """
    Text of the result that a model reads. Default: made of the result.
    """


class LlmEmbedMetadata(Model):
    model_config = ConfigDict(
        extra='allow',
    )
    __annotations__ = {
        '__pydantic_extra__': Dict[str, Any],
    }
    tags: list[str] | None = None
    """
    Texts by which the request is found, at most 16 of at most 64 characters each. Default: none.
    """


class LlmEmbedTexts2Encrypted(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    codec: str
    """
    Name of the encryption, such as `A256GCM`. 1 to 32 characters of A-Z a-z 0-9 . _ -
    """
    key_id: str
    """
    Id of the key that the value is encrypted with. 1 to 64 characters of A-Z a-z 0-9 . _ -
    """
    data: str
    """
    Ciphertext as base64url.
    """
    digest: str
    """
    Keyed hash of the value and its place, 16 to 48 bytes as base64url, by which a repeat is recognized.
    """


class LlmEmbedTexts2(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    field_encrypted: Annotated[
        LlmEmbedTexts2Encrypted,
        Field(alias='$encrypted', title='LlmEmbedTexts2Encrypted'),
    ]
    """
    Envelope of the encrypted value.
    """


class LlmEmbedConcurrency(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Key that the limit counts by, 1 to 256 characters.
    """
    limit: int
    """
    Maximum number of directives in flight, 1 to 10,000.
    """


class LlmEmbedRate(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Key that the limit counts by, 1 to 256 characters.
    """
    max: int
    """
    Maximum number of starts per interval, 1 to 1,000,000.
    """
    per_ms: int
    """
    Length of the interval in milliseconds, 1 to 86,400,000 (one day).
    """


class LlmEmbedDedupe(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Deduplication key, 1 to 256 characters without control characters.
    """
    window_ms: int
    """
    Length of the window in milliseconds, at most one year.
    """


class LlmEmbedDebounce(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Debounce key, 1 to 256 characters without control characters.
    """
    quiet_ms: int
    """
    Quiet interval before the start, in milliseconds, at most one year.
    """
    at_most_ms: int | None = None
    """
    Maximum delay after the first submission, in milliseconds, at most one year. Default: no maximum.
    """


class LlmEmbedSingleton(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Singleton key, 1 to 256 characters without control characters.
    """
    when_open: Literal['refuse', 'join', 'replace'] | None = None
    """
    Handling of a submission while another one is open: `refuse`, `join` it, or `replace` it. Default: `refuse`.
    """


class LlmEmbedOnEnd2(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    url: str
    """
    Address that receives the event, http or https, at most 2,048 characters.
    """


class LlmEmbedOnEnd2Item2(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    url: str
    """
    Address that receives the event, http or https, at most 2,048 characters.
    """


class LlmEmbed(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    id: str | None = None
    """
    Id of the directive, unique within its request; the same id with the same content is the same directive. 1 to 128 characters of A-Z a-z 0-9 . _ : - Default: generated.
    """
    request_id: str | None = None
    """
    Id of the request that the directive belongs to. 1 to 128 characters of A-Z a-z 0-9 . _ : - Default: generated.
    """
    metadata: Annotated[LlmEmbedMetadata | None, Field(title='LlmEmbedMetadata')] = None
    """
    Caller's metadata, copied to every signal of the directive; `tags` holds at most 16 texts by which the request is found. Default: {}.
    """
    type: Literal['llm_embed'] = 'llm_embed'
    """
    Type of the directive: computes embeddings.
    """
    model: str | None = None
    """
    Model as `provider:model`, at most 256 characters. `model` or `model_alias` is required; `model` takes precedence.
    """
    model_alias: str | None = None
    """
    Alias of the model, as the configuration defines it, at most 128 characters.
    """
    texts: str | list[str] | LlmEmbedTexts2
    """
    Text or texts to embed, or either encrypted.
    """
    dimensions: int | None = None
    """
    Number of values in each vector. Default: the default of the model.
    """
    encoding_format: Literal['float', 'base64'] | None = None
    """
    Encoding of the vectors: `float` or `base64`. Default: `float`.
    """
    provider_options: dict[str, Any] | None = None
    """
    Parameters for the API of the provider, merged into the body of the request; `params` of the configuration take precedence. Default: none.
    """
    timeout_ms: int | None = None
    """
    Limit of one attempt, in milliseconds. Default: `lane.timeout_ms` of the provider, 120,000 where that is not configured.
    """
    max_retries: int | None = None
    """
    Maximum number of retries after the first attempt. Default: 0.
    """
    retry_backoff_ms: int | None = None
    """
    Delay before the first retry, in milliseconds. Default: 0.
    """
    backoff: Literal['fixed', 'exponential'] | None = None
    """
    Growth of the delay: `fixed`, or `exponential`, which doubles it with each retry. Default: `fixed`.
    """
    max_backoff_ms: int | None = None
    """
    Maximum of a growing delay, in milliseconds; it never shortens the first delay. Default: 30,000.
    """
    jitter: float | None = None
    """
    Fraction by which a delay is randomly shortened, 0 to 1. Default: 0.
    """
    deadline_ms: int | None = None
    """
    Time from the acceptance to the end, all attempts and waits included, in milliseconds. Default: 900,000 (15 minutes).
    """
    delay_ms: int | None = None
    """
    Delay before the earliest start, in milliseconds, 0 to 31,536,000,000 (one year). Excludes `run_at`. Default: 0.
    """
    run_at: str | None = None
    """
    Earliest start as RFC 3339 with an offset; a past instant means now. Excludes `delay_ms`. Default: now.
    """
    start_by_ms: int | None = None
    """
    Time between the earliest start and the latest start, in milliseconds, 1 to 31,536,000,000; after it the directive or run ends as `expired`. Default: only its deadline counts.
    """
    priority: int | None = None
    """
    Priority, 0 to 9; higher values are dequeued first, and each step is a head start of 30 seconds. Default: 4.
    """
    fairness_key: str | None = None
    """
    Key of fair sharing: a lane dequeues alternately from each key, 1 to 256 characters. Default: the tenant.
    """
    concurrency: Annotated[
        LlmEmbedConcurrency | None, Field(title='LlmEmbedConcurrency')
    ] = None
    """
    Limit of directives in flight in the lane that share a key. Default: none.
    """
    rate: Annotated[LlmEmbedRate | None, Field(title='LlmEmbedRate')] = None
    """
    Limit of directives started per interval in the lane that share a key. Default: none.
    """
    dedupe: Annotated[LlmEmbedDedupe | None, Field(title='LlmEmbedDedupe')] = None
    """
    Deduplication: within the window after an acceptance, a submission with the same key is the same directive, whatever its content. Default: none.
    """
    debounce: Annotated[LlmEmbedDebounce | None, Field(title='LlmEmbedDebounce')] = None
    """
    Debounce: starts after a quiet interval, with the last submitted content. Default: none.
    """
    singleton: Annotated[LlmEmbedSingleton | None, Field(title='LlmEmbedSingleton')] = (
        None
    )
    """
    Singleton: at most one directive or run with the key is open at a time. Default: none.
    """
    on_end: str | LlmEmbedOnEnd2 | list[str | LlmEmbedOnEnd2Item2] | None = None
    """
    Webhook endpoints, by name or address, that receive an event at the end; at most 8. Default: as the rules of the configuration define.
    """


class LlmGenerateMetadata(Model):
    model_config = ConfigDict(
        extra='allow',
    )
    __annotations__ = {
        '__pydantic_extra__': Dict[str, Any],
    }
    tags: list[str] | None = None
    """
    Texts by which the request is found, at most 16 of at most 64 characters each. Default: none.
    """


class LlmGenerateContext2(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    messages: list[Message]
    """
    Messages of the conversation.
    """


class LlmGenerateContext2Encrypted(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    codec: str
    """
    Name of the encryption, such as `A256GCM`. 1 to 32 characters of A-Z a-z 0-9 . _ -
    """
    key_id: str
    """
    Id of the key that the value is encrypted with. 1 to 64 characters of A-Z a-z 0-9 . _ -
    """
    data: str
    """
    Ciphertext as base64url.
    """
    digest: str
    """
    Keyed hash of the value and its place, 16 to 48 bytes as base64url, by which a repeat is recognized.
    """


class LlmGenerateContext21(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    field_encrypted: Annotated[
        LlmGenerateContext2Encrypted,
        Field(alias='$encrypted', title='LlmGenerateContext2Encrypted'),
    ]
    """
    Envelope of the encrypted value.
    """


class LlmGenerateSystemPrompt2Encrypted(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    codec: str
    """
    Name of the encryption, such as `A256GCM`. 1 to 32 characters of A-Z a-z 0-9 . _ -
    """
    key_id: str
    """
    Id of the key that the value is encrypted with. 1 to 64 characters of A-Z a-z 0-9 . _ -
    """
    data: str
    """
    Ciphertext as base64url.
    """
    digest: str
    """
    Keyed hash of the value and its place, 16 to 48 bytes as base64url, by which a repeat is recognized.
    """


class LlmGenerateSystemPrompt2(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    field_encrypted: Annotated[
        LlmGenerateSystemPrompt2Encrypted,
        Field(alias='$encrypted', title='LlmGenerateSystemPrompt2Encrypted'),
    ]
    """
    Envelope of the encrypted value.
    """


class LlmGenerateToolsItem2(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    name: str
    """
    Name of the tool.
    """
    description: str | None = None
    """
    Description of the tool for the model. Default: the one of the catalog.
    """
    input_schema: dict[str, Any] | None = None
    """
    JSON Schema of the arguments. Default: the one of the catalog.
    """


class LlmGenerateToolChoice2(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    required: str
    """
    Name of the tool that the model has to call.
    """


class LlmGenerateConcurrency(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Key that the limit counts by, 1 to 256 characters.
    """
    limit: int
    """
    Maximum number of directives in flight, 1 to 10,000.
    """


class LlmGenerateRate(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Key that the limit counts by, 1 to 256 characters.
    """
    max: int
    """
    Maximum number of starts per interval, 1 to 1,000,000.
    """
    per_ms: int
    """
    Length of the interval in milliseconds, 1 to 86,400,000 (one day).
    """


class LlmGenerateDedupe(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Deduplication key, 1 to 256 characters without control characters.
    """
    window_ms: int
    """
    Length of the window in milliseconds, at most one year.
    """


class LlmGenerateDebounce(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Debounce key, 1 to 256 characters without control characters.
    """
    quiet_ms: int
    """
    Quiet interval before the start, in milliseconds, at most one year.
    """
    at_most_ms: int | None = None
    """
    Maximum delay after the first submission, in milliseconds, at most one year. Default: no maximum.
    """


class LlmGenerateSingleton(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Singleton key, 1 to 256 characters without control characters.
    """
    when_open: Literal['refuse', 'join', 'replace'] | None = None
    """
    Handling of a submission while another one is open: `refuse`, `join` it, or `replace` it. Default: `refuse`.
    """


class LlmGenerateOnEnd2(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    url: str
    """
    Address that receives the event, http or https, at most 2,048 characters.
    """


class LlmGenerateOnEnd2Item2(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    url: str
    """
    Address that receives the event, http or https, at most 2,048 characters.
    """


class LlmGenerate(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    id: str | None = None
    """
    Id of the directive, unique within its request; the same id with the same content is the same directive. 1 to 128 characters of A-Z a-z 0-9 . _ : - Default: generated.
    """
    request_id: str | None = None
    """
    Id of the request that the directive belongs to. 1 to 128 characters of A-Z a-z 0-9 . _ : - Default: generated.
    """
    metadata: Annotated[
        LlmGenerateMetadata | None, Field(title='LlmGenerateMetadata')
    ] = None
    """
    Caller's metadata, copied to every signal of the directive; `tags` holds at most 16 texts by which the request is found. Default: {}.
    """
    type: Literal['llm_generate'] = 'llm_generate'
    """
    Type of the directive: calls a model.
    """
    model: str | None = None
    """
    Model as `provider:model`, at most 256 characters. `model` or `model_alias` is required; `model` takes precedence.
    """
    model_alias: str | None = None
    """
    Alias of the model, as the configuration defines it, at most 128 characters.
    """
    context: list[Message] | LlmGenerateContext2 | LlmGenerateContext21
    """
    Messages of the conversation, or `{messages}`, or either encrypted.
    """
    system_prompt: str | LlmGenerateSystemPrompt2 | None = None
    """
    System prompt, or that text encrypted. Default: none.
    """
    tools: list[str | LlmGenerateToolsItem2] | None = None
    """
    Tools that the model may call, by name in the catalog or described here. Default: none.
    """
    tool_choice: Literal['auto', 'none', 'required'] | LlmGenerateToolChoice2 | None = (
        None
    )
    """
    Whether the model calls tools: `auto`, `none`, `required`, or `{required: <tool>}` for a certain one. Default: `auto`.
    """
    max_tokens: int | None = None
    """
    Maximum number of output tokens. Default: 1,024.
    """
    temperature: float | None = None
    """
    Sampling temperature. Default: 0.2.
    """
    timeout_ms: int | None = None
    """
    Limit of one attempt, in milliseconds. Default: `lane.timeout_ms` of the provider, 120,000 where that is not configured.
    """
    idle_timeout_ms: int | None = None
    """
    Maximum time between two chunks of a streamed answer, in milliseconds. Default: `lane.idle_timeout_ms` of the provider, 60,000 where that is not configured.
    """
    reasoning: Literal['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] | None = (
        None
    )
    """
    Reasoning effort of the model. Default: the default of the provider.
    """
    output_schema: dict[str, Any] | None = None
    """
    JSON Schema that the answer satisfies. Default: none, the answer is text.
    """
    provider_options: dict[str, Any] | None = None
    """
    Parameters for the API of the provider, merged into the body of the request; `params` of the configuration take precedence. Fields of the contract, addresses and credentials are refused. At most 16,384 characters of JSON and 8 levels. Default: none.
    """
    max_retries: int | None = None
    """
    Maximum number of retries after the first attempt. Default: 0.
    """
    retry_backoff_ms: int | None = None
    """
    Delay before the first retry, in milliseconds. Default: 0.
    """
    backoff: Literal['fixed', 'exponential'] | None = None
    """
    Growth of the delay: `fixed`, or `exponential`, which doubles it with each retry. Default: `fixed`.
    """
    max_backoff_ms: int | None = None
    """
    Maximum of a growing delay, in milliseconds; it never shortens the first delay. Default: 30,000.
    """
    jitter: float | None = None
    """
    Fraction by which a delay is randomly shortened, 0 to 1. Default: 0.
    """
    deadline_ms: int | None = None
    """
    Time from the acceptance to the end, all attempts and waits included, in milliseconds. Default: 900,000 (15 minutes).
    """
    delay_ms: int | None = None
    """
    Delay before the earliest start, in milliseconds, 0 to 31,536,000,000 (one year). Excludes `run_at`. Default: 0.
    """
    run_at: str | None = None
    """
    Earliest start as RFC 3339 with an offset; a past instant means now. Excludes `delay_ms`. Default: now.
    """
    start_by_ms: int | None = None
    """
    Time between the earliest start and the latest start, in milliseconds, 1 to 31,536,000,000; after it the directive or run ends as `expired`. Default: only its deadline counts.
    """
    priority: int | None = None
    """
    Priority, 0 to 9; higher values are dequeued first, and each step is a head start of 30 seconds. Default: 4.
    """
    fairness_key: str | None = None
    """
    Key of fair sharing: a lane dequeues alternately from each key, 1 to 256 characters. Default: the tenant.
    """
    concurrency: Annotated[
        LlmGenerateConcurrency | None, Field(title='LlmGenerateConcurrency')
    ] = None
    """
    Limit of directives in flight in the lane that share a key. Default: none.
    """
    rate: Annotated[LlmGenerateRate | None, Field(title='LlmGenerateRate')] = None
    """
    Limit of directives started per interval in the lane that share a key. Default: none.
    """
    dedupe: Annotated[LlmGenerateDedupe | None, Field(title='LlmGenerateDedupe')] = None
    """
    Deduplication: within the window after an acceptance, a submission with the same key is the same directive, whatever its content. Default: none.
    """
    debounce: Annotated[
        LlmGenerateDebounce | None, Field(title='LlmGenerateDebounce')
    ] = None
    """
    Debounce: starts after a quiet interval, with the last submitted content. Default: none.
    """
    singleton: Annotated[
        LlmGenerateSingleton | None, Field(title='LlmGenerateSingleton')
    ] = None
    """
    Singleton: at most one directive or run with the key is open at a time. Default: none.
    """
    on_end: str | LlmGenerateOnEnd2 | list[str | LlmGenerateOnEnd2Item2] | None = None
    """
    Webhook endpoints, by name or address, that receive an event at the end; at most 8. Default: as the rules of the configuration define.
    """
    iteration: int | None = None
    """
    Turn of the agent that submits the directive, from 0. Informative.
    """


class LlmRequestMetadata(Model):
    model_config = ConfigDict(
        extra='allow',
    )
    __annotations__ = {
        '__pydantic_extra__': Dict[str, Any],
    }
    tags: list[str] | None = None
    """
    Texts by which the request is found, at most 16 of at most 64 characters each. Default: none.
    """


class LlmRequestBody2Encrypted(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    codec: str
    """
    Name of the encryption, such as `A256GCM`. 1 to 32 characters of A-Z a-z 0-9 . _ -
    """
    key_id: str
    """
    Id of the key that the value is encrypted with. 1 to 64 characters of A-Z a-z 0-9 . _ -
    """
    data: str
    """
    Ciphertext as base64url.
    """
    digest: str
    """
    Keyed hash of the value and its place, 16 to 48 bytes as base64url, by which a repeat is recognized.
    """


class LlmRequestBody2(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    field_encrypted: Annotated[
        LlmRequestBody2Encrypted,
        Field(alias='$encrypted', title='LlmRequestBody2Encrypted'),
    ]
    """
    Envelope of the encrypted value.
    """


class LlmRequestConcurrency(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Key that the limit counts by, 1 to 256 characters.
    """
    limit: int
    """
    Maximum number of directives in flight, 1 to 10,000.
    """


class LlmRequestRate(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Key that the limit counts by, 1 to 256 characters.
    """
    max: int
    """
    Maximum number of starts per interval, 1 to 1,000,000.
    """
    per_ms: int
    """
    Length of the interval in milliseconds, 1 to 86,400,000 (one day).
    """


class LlmRequestDedupe(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Deduplication key, 1 to 256 characters without control characters.
    """
    window_ms: int
    """
    Length of the window in milliseconds, at most one year.
    """


class LlmRequestDebounce(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Debounce key, 1 to 256 characters without control characters.
    """
    quiet_ms: int
    """
    Quiet interval before the start, in milliseconds, at most one year.
    """
    at_most_ms: int | None = None
    """
    Maximum delay after the first submission, in milliseconds, at most one year. Default: no maximum.
    """


class LlmRequestSingleton(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Singleton key, 1 to 256 characters without control characters.
    """
    when_open: Literal['refuse', 'join', 'replace'] | None = None
    """
    Handling of a submission while another one is open: `refuse`, `join` it, or `replace` it. Default: `refuse`.
    """


class LlmRequestOnEnd2(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    url: str
    """
    Address that receives the event, http or https, at most 2,048 characters.
    """


class LlmRequestOnEnd2Item2(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    url: str
    """
    Address that receives the event, http or https, at most 2,048 characters.
    """


class LlmRequest(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    id: str | None = None
    """
    Id of the directive, unique within its request; the same id with the same content is the same directive. 1 to 128 characters of A-Z a-z 0-9 . _ : - Default: generated.
    """
    request_id: str | None = None
    """
    Id of the request that the directive belongs to. 1 to 128 characters of A-Z a-z 0-9 . _ : - Default: generated.
    """
    metadata: Annotated[
        LlmRequestMetadata | None, Field(title='LlmRequestMetadata')
    ] = None
    """
    Caller's metadata, copied to every signal of the directive; `tags` holds at most 16 texts by which the request is found. Default: {}.
    """
    type: Literal['llm_request'] = 'llm_request'
    """
    Type of the directive: sends a request to a model's provider as it is, and keeps the answer as it came.
    """
    model: str | None = None
    """
    Model as `provider:model`, at most 256 characters. `model` or `model_alias` is required; `model` takes precedence.
    """
    model_alias: str | None = None
    """
    Alias of the model, as the configuration defines it, at most 128 characters.
    """
    wire: Literal['openai_chat', 'openai_responses', 'openai_embeddings', 'anthropic_messages', 'anthropic_count_tokens', 'google_generate', 'google_stream', 'google_embed']
    """
    Form of the request, which names the endpoint of the API: only providers of this form answer.
    """
    body: str | LlmRequestBody2
    """
    Body of the request as JSON text, or that text encrypted. It is sent as it is, except for the name of the model and the parameters that the configuration sets.
    """
    headers: dict[str, str] | None = None
    """
    Headers of the request that the provider reads, such as `anthropic-version`; credentials are not passed on. At most 16. Default: none.
    """
    query: dict[str, str] | None = None
    """
    Query of the request, such as `alt` for Google. At most 16 parameters. Default: none.
    """
    timeout_ms: int | None = None
    """
    Limit of one attempt, in milliseconds. Default: `lane.timeout_ms` of the provider, 120,000 where that is not configured.
    """
    idle_timeout_ms: int | None = None
    """
    Maximum time between two chunks of a streamed answer, in milliseconds. Default: `lane.idle_timeout_ms` of the provider, 60,000 where that is not configured.
    """
    max_retries: int | None = None
    """
    Maximum number of retries after the first attempt. Default: 0.
    """
    retry_backoff_ms: int | None = None
    """
    Delay before the first retry, in milliseconds. Default: 0.
    """
    backoff: Literal['fixed', 'exponential'] | None = None
    """
    Growth of the delay: `fixed`, or `exponential`, which doubles it with each retry. Default: `fixed`.
    """
    max_backoff_ms: int | None = None
    """
    Maximum of a growing delay, in milliseconds; it never shortens the first delay. Default: 30,000.
    """
    jitter: float | None = None
    """
    Fraction by which a delay is randomly shortened, 0 to 1. Default: 0.
    """
    deadline_ms: int | None = None
    """
    Time from the acceptance to the end, all attempts and waits included, in milliseconds. Default: 900,000 (15 minutes).
    """
    delay_ms: int | None = None
    """
    Delay before the earliest start, in milliseconds, 0 to 31,536,000,000 (one year). Excludes `run_at`. Default: 0.
    """
    run_at: str | None = None
    """
    Earliest start as RFC 3339 with an offset; a past instant means now. Excludes `delay_ms`. Default: now.
    """
    start_by_ms: int | None = None
    """
    Time between the earliest start and the latest start, in milliseconds, 1 to 31,536,000,000; after it the directive or run ends as `expired`. Default: only its deadline counts.
    """
    priority: int | None = None
    """
    Priority, 0 to 9; higher values are dequeued first, and each step is a head start of 30 seconds. Default: 4.
    """
    fairness_key: str | None = None
    """
    Key of fair sharing: a lane dequeues alternately from each key, 1 to 256 characters. Default: the tenant.
    """
    concurrency: Annotated[
        LlmRequestConcurrency | None, Field(title='LlmRequestConcurrency')
    ] = None
    """
    Limit of directives in flight in the lane that share a key. Default: none.
    """
    rate: Annotated[LlmRequestRate | None, Field(title='LlmRequestRate')] = None
    """
    Limit of directives started per interval in the lane that share a key. Default: none.
    """
    dedupe: Annotated[LlmRequestDedupe | None, Field(title='LlmRequestDedupe')] = None
    """
    Deduplication: within the window after an acceptance, a submission with the same key is the same directive, whatever its content. Default: none.
    """
    debounce: Annotated[
        LlmRequestDebounce | None, Field(title='LlmRequestDebounce')
    ] = None
    """
    Debounce: starts after a quiet interval, with the last submitted content. Default: none.
    """
    singleton: Annotated[
        LlmRequestSingleton | None, Field(title='LlmRequestSingleton')
    ] = None
    """
    Singleton: at most one directive or run with the key is open at a time. Default: none.
    """
    on_end: str | LlmRequestOnEnd2 | list[str | LlmRequestOnEnd2Item2] | None = None
    """
    Webhook endpoints, by name or address, that receive an event at the end; at most 8. Default: as the rules of the configuration define.
    """


class LlmStreamMetadata(Model):
    model_config = ConfigDict(
        extra='allow',
    )
    __annotations__ = {
        '__pydantic_extra__': Dict[str, Any],
    }
    tags: list[str] | None = None
    """
    Texts by which the request is found, at most 16 of at most 64 characters each. Default: none.
    """


class LlmStreamContext2(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    messages: list[Message]
    """
    Messages of the conversation.
    """


class LlmStreamContext2Encrypted(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    codec: str
    """
    Name of the encryption, such as `A256GCM`. 1 to 32 characters of A-Z a-z 0-9 . _ -
    """
    key_id: str
    """
    Id of the key that the value is encrypted with. 1 to 64 characters of A-Z a-z 0-9 . _ -
    """
    data: str
    """
    Ciphertext as base64url.
    """
    digest: str
    """
    Keyed hash of the value and its place, 16 to 48 bytes as base64url, by which a repeat is recognized.
    """


class LlmStreamContext21(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    field_encrypted: Annotated[
        LlmStreamContext2Encrypted,
        Field(alias='$encrypted', title='LlmStreamContext2Encrypted'),
    ]
    """
    Envelope of the encrypted value.
    """


class LlmStreamSystemPrompt2Encrypted(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    codec: str
    """
    Name of the encryption, such as `A256GCM`. 1 to 32 characters of A-Z a-z 0-9 . _ -
    """
    key_id: str
    """
    Id of the key that the value is encrypted with. 1 to 64 characters of A-Z a-z 0-9 . _ -
    """
    data: str
    """
    Ciphertext as base64url.
    """
    digest: str
    """
    Keyed hash of the value and its place, 16 to 48 bytes as base64url, by which a repeat is recognized.
    """


class LlmStreamSystemPrompt2(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    field_encrypted: Annotated[
        LlmStreamSystemPrompt2Encrypted,
        Field(alias='$encrypted', title='LlmStreamSystemPrompt2Encrypted'),
    ]
    """
    Envelope of the encrypted value.
    """


class LlmStreamToolsItem2(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    name: str
    """
    Name of the tool.
    """
    description: str | None = None
    """
    Description of the tool for the model. Default: the one of the catalog.
    """
    input_schema: dict[str, Any] | None = None
    """
    JSON Schema of the arguments. Default: the one of the catalog.
    """


class LlmStreamToolChoice2(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    required: str
    """
    Name of the tool that the model has to call.
    """


class LlmStreamConcurrency(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Key that the limit counts by, 1 to 256 characters.
    """
    limit: int
    """
    Maximum number of directives in flight, 1 to 10,000.
    """


class LlmStreamRate(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Key that the limit counts by, 1 to 256 characters.
    """
    max: int
    """
    Maximum number of starts per interval, 1 to 1,000,000.
    """
    per_ms: int
    """
    Length of the interval in milliseconds, 1 to 86,400,000 (one day).
    """


class LlmStreamDedupe(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Deduplication key, 1 to 256 characters without control characters.
    """
    window_ms: int
    """
    Length of the window in milliseconds, at most one year.
    """


class LlmStreamDebounce(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Debounce key, 1 to 256 characters without control characters.
    """
    quiet_ms: int
    """
    Quiet interval before the start, in milliseconds, at most one year.
    """
    at_most_ms: int | None = None
    """
    Maximum delay after the first submission, in milliseconds, at most one year. Default: no maximum.
    """


class LlmStreamSingleton(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Singleton key, 1 to 256 characters without control characters.
    """
    when_open: Literal['refuse', 'join', 'replace'] | None = None
    """
    Handling of a submission while another one is open: `refuse`, `join` it, or `replace` it. Default: `refuse`.
    """


class LlmStreamOnEnd2(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    url: str
    """
    Address that receives the event, http or https, at most 2,048 characters.
    """


class LlmStreamOnEnd2Item2(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    url: str
    """
    Address that receives the event, http or https, at most 2,048 characters.
    """


class LlmStream(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    id: str | None = None
    """
    Id of the directive, unique within its request; the same id with the same content is the same directive. 1 to 128 characters of A-Z a-z 0-9 . _ : - Default: generated.
    """
    request_id: str | None = None
    """
    Id of the request that the directive belongs to. 1 to 128 characters of A-Z a-z 0-9 . _ : - Default: generated.
    """
    metadata: Annotated[LlmStreamMetadata | None, Field(title='LlmStreamMetadata')] = (
        None
    )
    """
    Caller's metadata, copied to every signal of the directive; `tags` holds at most 16 texts by which the request is found. Default: {}.
    """
    type: Literal['llm_stream'] = 'llm_stream'
    """
    Type of the directive: calls a model and publishes its answer as delta signals while it is generated.
    """
    model: str | None = None
    """
    Model as `provider:model`, at most 256 characters. `model` or `model_alias` is required; `model` takes precedence.
    """
    model_alias: str | None = None
    """
    Alias of the model, as the configuration defines it, at most 128 characters.
    """
    context: list[Message] | LlmStreamContext2 | LlmStreamContext21
    """
    Messages of the conversation, or `{messages}`, or either encrypted.
    """
    system_prompt: str | LlmStreamSystemPrompt2 | None = None
    """
    System prompt, or that text encrypted. Default: none.
    """
    tools: list[str | LlmStreamToolsItem2] | None = None
    """
    Tools that the model may call, by name in the catalog or described here. Default: none.
    """
    tool_choice: Literal['auto', 'none', 'required'] | LlmStreamToolChoice2 | None = (
        None
    )
    """
    Whether the model calls tools: `auto`, `none`, `required`, or `{required: <tool>}` for a certain one. Default: `auto`.
    """
    max_tokens: int | None = None
    """
    Maximum number of output tokens. Default: 1,024.
    """
    temperature: float | None = None
    """
    Sampling temperature. Default: 0.2.
    """
    timeout_ms: int | None = None
    """
    Limit of one attempt, in milliseconds. Default: `lane.timeout_ms` of the provider, 120,000 where that is not configured.
    """
    idle_timeout_ms: int | None = None
    """
    Maximum time between two chunks of a streamed answer, in milliseconds. Default: `lane.idle_timeout_ms` of the provider, 60,000 where that is not configured.
    """
    reasoning: Literal['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] | None = (
        None
    )
    """
    Reasoning effort of the model. Default: the default of the provider.
    """
    output_schema: dict[str, Any] | None = None
    """
    JSON Schema that the answer satisfies. Default: none, the answer is text.
    """
    provider_options: dict[str, Any] | None = None
    """
    Parameters for the API of the provider, merged into the body of the request; `params` of the configuration take precedence. Fields of the contract, addresses and credentials are refused. At most 16,384 characters of JSON and 8 levels. Default: none.
    """
    max_retries: int | None = None
    """
    Maximum number of retries after the first attempt. Default: 0.
    """
    retry_backoff_ms: int | None = None
    """
    Delay before the first retry, in milliseconds. Default: 0.
    """
    backoff: Literal['fixed', 'exponential'] | None = None
    """
    Growth of the delay: `fixed`, or `exponential`, which doubles it with each retry. Default: `fixed`.
    """
    max_backoff_ms: int | None = None
    """
    Maximum of a growing delay, in milliseconds; it never shortens the first delay. Default: 30,000.
    """
    jitter: float | None = None
    """
    Fraction by which a delay is randomly shortened, 0 to 1. Default: 0.
    """
    deadline_ms: int | None = None
    """
    Time from the acceptance to the end, all attempts and waits included, in milliseconds. Default: 900,000 (15 minutes).
    """
    delay_ms: int | None = None
    """
    Delay before the earliest start, in milliseconds, 0 to 31,536,000,000 (one year). Excludes `run_at`. Default: 0.
    """
    run_at: str | None = None
    """
    Earliest start as RFC 3339 with an offset; a past instant means now. Excludes `delay_ms`. Default: now.
    """
    start_by_ms: int | None = None
    """
    Time between the earliest start and the latest start, in milliseconds, 1 to 31,536,000,000; after it the directive or run ends as `expired`. Default: only its deadline counts.
    """
    priority: int | None = None
    """
    Priority, 0 to 9; higher values are dequeued first, and each step is a head start of 30 seconds. Default: 4.
    """
    fairness_key: str | None = None
    """
    Key of fair sharing: a lane dequeues alternately from each key, 1 to 256 characters. Default: the tenant.
    """
    concurrency: Annotated[
        LlmStreamConcurrency | None, Field(title='LlmStreamConcurrency')
    ] = None
    """
    Limit of directives in flight in the lane that share a key. Default: none.
    """
    rate: Annotated[LlmStreamRate | None, Field(title='LlmStreamRate')] = None
    """
    Limit of directives started per interval in the lane that share a key. Default: none.
    """
    dedupe: Annotated[LlmStreamDedupe | None, Field(title='LlmStreamDedupe')] = None
    """
    Deduplication: within the window after an acceptance, a submission with the same key is the same directive, whatever its content. Default: none.
    """
    debounce: Annotated[LlmStreamDebounce | None, Field(title='LlmStreamDebounce')] = (
        None
    )
    """
    Debounce: starts after a quiet interval, with the last submitted content. Default: none.
    """
    singleton: Annotated[
        LlmStreamSingleton | None, Field(title='LlmStreamSingleton')
    ] = None
    """
    Singleton: at most one directive or run with the key is open at a time. Default: none.
    """
    on_end: str | LlmStreamOnEnd2 | list[str | LlmStreamOnEnd2Item2] | None = None
    """
    Webhook endpoints, by name or address, that receive an event at the end; at most 8. Default: as the rules of the configuration define.
    """
    iteration: int | None = None
    """
    Turn of the agent that submits the directive, from 0. Informative.
    """


class ToolExecMetadata(Model):
    model_config = ConfigDict(
        extra='allow',
    )
    __annotations__ = {
        '__pydantic_extra__': Dict[str, Any],
    }
    tags: list[str] | None = None
    """
    Texts by which the request is found, at most 16 of at most 64 characters each. Default: none.
    """


class ToolExecConcurrency(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Key that the limit counts by, 1 to 256 characters.
    """
    limit: int
    """
    Maximum number of directives in flight, 1 to 10,000.
    """


class ToolExecRate(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Key that the limit counts by, 1 to 256 characters.
    """
    max: int
    """
    Maximum number of starts per interval, 1 to 1,000,000.
    """
    per_ms: int
    """
    Length of the interval in milliseconds, 1 to 86,400,000 (one day).
    """


class ToolExecDedupe(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Deduplication key, 1 to 256 characters without control characters.
    """
    window_ms: int
    """
    Length of the window in milliseconds, at most one year.
    """


class ToolExecDebounce(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Debounce key, 1 to 256 characters without control characters.
    """
    quiet_ms: int
    """
    Quiet interval before the start, in milliseconds, at most one year.
    """
    at_most_ms: int | None = None
    """
    Maximum delay after the first submission, in milliseconds, at most one year. Default: no maximum.
    """


class ToolExecSingleton(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    key: str
    """
    Singleton key, 1 to 256 characters without control characters.
    """
    when_open: Literal['refuse', 'join', 'replace'] | None = None
    """
    Handling of a submission while another one is open: `refuse`, `join` it, or `replace` it. Default: `refuse`.
    """


class ToolExecOnEnd2(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    url: str
    """
    Address that receives the event, http or https, at most 2,048 characters.
    """


class ToolExecOnEnd2Item2(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    url: str
    """
    Address that receives the event, http or https, at most 2,048 characters.
    """


class ToolExec(Model):
    model_config = ConfigDict(
        extra='forbid',
    )
    id: str | None = None
    """
    Id of the directive, unique within its request; the same id with the same content is the same directive. 1 to 128 characters of A-Z a-z 0-9 . _ : - Default: generated.
    """
    request_id: str | None = None
    """
    Id of the request that the directive belongs to. 1 to 128 characters of A-Z a-z 0-9 . _ : - Default: generated.
    """
    metadata: Annotated[ToolExecMetadata | None, Field(title='ToolExecMetadata')] = None
    """
    Caller's metadata, copied to every signal of the directive; `tags` holds at most 16 texts by which the request is found. Default: {}.
    """
    type: Literal['tool_exec'] = 'tool_exec'
    """
    Type of the directive: calls a tool.
    """
    tool_name: str
    """
    Name of the tool, `tool` or `server.tool`; `tool` alone where `server` is given or the name is unique. 1 to 256 characters.
    """
    arguments: dict[str, Any] | None = None
    """
    Arguments of the tool, or that object encrypted. Default: {}.
    """
    context: dict[str, Any] | None = None
    """
    Context of the call for the tool, or that object encrypted. Default: {}.
    """
    timeout_ms: int | None = None
    """
    Limit of one attempt, in milliseconds; each progress notification restarts it. Default: `lane.timeout_ms` of the server, 30,000 where that is not configured.
    """
    max_retries: int | None = None
    """
    Maximum number of retries after the first attempt. Default: 0.
    """
    retry_backoff_ms: int | None = None
    """
    Delay before the first retry, in milliseconds. Default: 0.
    """
    backoff: Literal['fixed', 'exponential'] | None = None
    """
    Growth of the delay: `fixed`, or `exponential`, which doubles it with each retry. Default: `fixed`.
    """
    max_backoff_ms: int | None = None
    """
    Maximum of a growing delay, in milliseconds; it never shortens the first delay. Default: 30,000.
    """
    jitter: float | None = None
    """
    Fraction by which a delay is randomly shortened, 0 to 1. Default: 0.
    """
    deadline_ms: int | None = None
    """
    Time from the acceptance to the end, all attempts and waits included, in milliseconds. Default: 900,000 (15 minutes).
    """
    delay_ms: int | None = None
    """
    Delay before the earliest start, in milliseconds, 0 to 31,536,000,000 (one year). Excludes `run_at`. Default: 0.
    """
    run_at: str | None = None
    """
    Earliest start as RFC 3339 with an offset; a past instant means now. Excludes `delay_ms`. Default: now.
    """
    start_by_ms: int | None = None
    """
    Time between the earliest start and the latest start, in milliseconds, 1 to 31,536,000,000; after it the directive or run ends as `expired`. Default: only its deadline counts.
    """
    priority: int | None = None
    """
    Priority, 0 to 9; higher values are dequeued first, and each step is a head start of 30 seconds. Default: 4.
    """
    fairness_key: str | None = None
    """
    Key of fair sharing: a lane dequeues alternately from each key, 1 to 256 characters. Default: the tenant.
    """
    concurrency: Annotated[
        ToolExecConcurrency | None, Field(title='ToolExecConcurrency')
    ] = None
    """
    Limit of directives in flight in the lane that share a key. Default: none.
    """
    rate: Annotated[ToolExecRate | None, Field(title='ToolExecRate')] = None
    """
    Limit of directives started per interval in the lane that share a key. Default: none.
    """
    dedupe: Annotated[ToolExecDedupe | None, Field(title='ToolExecDedupe')] = None
    """
    Deduplication: within the window after an acceptance, a submission with the same key is the same directive, whatever its content. Default: none.
    """
    debounce: Annotated[ToolExecDebounce | None, Field(title='ToolExecDebounce')] = None
    """
    Debounce: starts after a quiet interval, with the last submitted content. Default: none.
    """
    singleton: Annotated[ToolExecSingleton | None, Field(title='ToolExecSingleton')] = (
        None
    )
    """
    Singleton: at most one directive or run with the key is open at a time. Default: none.
    """
    on_end: str | ToolExecOnEnd2 | list[str | ToolExecOnEnd2Item2] | None = None
    """
    Webhook endpoints, by name or address, that receive an event at the end; at most 8. Default: as the rules of the configuration define.
    """
    iteration: int | None = None
    """
    Turn of the agent that submits the directive, from 0. Informative.
    """
    server: str | None = None
    """
    Name of the MCP server, where `tool_name` does not contain it. 1 to 64 characters.
    """
    effect: Literal['read', 'idempotent', 'once'] | None = None
    """
    Repeatability of the call: `read`, `idempotent` or `once`. A call of a `once` tool is never repeated where it may have run. Default: as the catalog states.
    """


class TakenWorkWork(Model):
    type: str
    """
    Type of the directive.
    """
    work_id: str
    """
    Id of the work. Another attempt of the directive is other work.
    """
    token: str
    """
    Token of the taker: the current one alone holds and ends the work.
    """
    lease_ms: int
    """
    Time until the program counts as dead unless it holds the work again, in milliseconds. The first hold is due within 10 s.
    """
    directive: dict[str, Any]
    """
    Directive as accepted.
    """
    tenant: str
    """
    Tenant of the request.
    """
    effect: Literal['read', 'idempotent', 'once'] | str
    """
    Whether the work may be repeated after a program died.
    """
    attempt: int
    """
    Number of the attempt, from 1.
    """
    idempotency_key: str
    """
    The same for every attempt of the directive.
    """
    remaining_ms: int
    """
    Time until the deadline, in milliseconds.
    """
    traceparent: str
    """
    W3C trace context of the attempt.
    """
    tool_context: dict[str, Any]
    """
    In a run: the agent's `tool_context` and `state`; else {}.
    """


class TakenWork(Model):
    work: TakenWorkWork | None
    """
    Work that the program now has; null: none came in time.
    """


class Usage(Model):
    input_tokens: int
    """
    Number of input tokens, cached ones included.
    """
    output_tokens: int
    """
    Number of output tokens.
    """
    total_tokens: int
    """
    Number of all tokens.
    """
    cache_creation_input_tokens: int | None = None
    """
    Number of input tokens written to the provider's cache. Absent: not reported.
    """
    cache_read_input_tokens: int | None = None
    """
    Number of input tokens read from the provider's cache. Absent: not reported.
    """
    reasoning_tokens: int | None = None
    """
    Number of output tokens that are the model's reasoning. Absent: not reported.
    """


class WebhookEventDirectiveEndedData(Model):
    tenant: str
    """
    Tenant of the request.
    """
    request_id: str
    """
    Id of the request.
    """
    status: Literal['succeeded', 'failed', 'cancelled'] | str
    """
    Status at the end.
    """
    result: Any
    """
    Result; null: none, or larger than the configuration permits in an event: then read `url`.
    """
    error: Any
    """
    Error envelope of the failure; null: succeeded.
    """
    omitted_bytes: int | None = None
    """
    Size of a result that is left out, in bytes. Absent: the result is complete.
    """
    url: str
    """
    Path at the API of the service that returns everything.
    """
    ended_at: str
    """
    Instant (UTC) of the end.
    """
    traceparent: str
    """
    W3C trace context of the directive or run.
    """
    id: str
    """
    Id of the directive.
    """
    directive_type: str
    """
    Type of the directive.
    """
    name: str | None
    """
    Name of the tool or model; null: none.
    """
    lane: str | None
    """
    Lane of the directive; null: none.
    """
    attempts: int
    """
    Number of attempts.
    """
    sequence: int
    """
    Sequence number of the signal that ended the directive.
    """
    accepted_at: str
    """
    Instant (UTC) of the acceptance.
    """
    started_at: str | None
    """
    Instant (UTC) of the first attempt; null: not started.
    """


class WebhookEventDirectiveEnded(Model):
    type: Literal['directive.ended'] = 'directive.ended'
    """
    Type of the event: the end of a directive.
    """
    timestamp: str
    """
    Instant (UTC) of the event.
    """
    data: Annotated[
        WebhookEventDirectiveEndedData, Field(title='WebhookEventDirectiveEndedData')
    ]
    """
    Data of the event.
    """


class WebhookEventRunEndedData(Model):
    tenant: str
    """
    Tenant of the request.
    """
    request_id: str
    """
    Id of the request.
    """
    status: Literal['succeeded', 'failed', 'cancelled'] | str
    """
    Status at the end.
    """
    result: Any
    """
    Result; null: none, or larger than the configuration permits in an event: then read `url`.
    """
    error: Any
    """
    Error envelope of the failure; null: succeeded.
    """
    omitted_bytes: int | None = None
    """
    Size of a result that is left out, in bytes. Absent: the result is complete.
    """
    url: str
    """
    Path at the API of the service that returns everything.
    """
    ended_at: str
    """
    Instant (UTC) of the end.
    """
    traceparent: str
    """
    W3C trace context of the directive or run.
    """
    run_id: str
    """
    Id of the run.
    """
    agent: str
    """
    Name of the agent.
    """
    conversation_id: str | None
    """
    Id of the conversation; null: none.
    """
    termination_reason: str | None
    """
    Reason why the run ended.
    """
    iterations: int
    """
    Number of model turns.
    """
    tool_calls: int
    """
    Number of tool calls.
    """
    usage: Usage
    """
    Token usage of the run.
    """
    cost: float | None
    """
    Cost in USD; null: the price of a used model is unknown.
    """
    started_at: str | None
    """
    Instant (UTC) of the start; null: not started.
    """
    resumed: int | None = None
    """
    Number of resumes before this end. Absent: none, it is the first end.
    """


class WebhookEventRunEnded(Model):
    type: Literal['run.ended'] = 'run.ended'
    """
    Type of the event: the end of a run.
    """
    timestamp: str
    """
    Instant (UTC) of the event.
    """
    data: Annotated[WebhookEventRunEndedData, Field(title='WebhookEventRunEndedData')]
    """
    Data of the event.
    """


class WebhookEventApprovalRequestedData(Model):
    kind: Literal['approval', 'budget', 'question'] | str
    """
    Kind of the open question.
    """
    tenant: str
    """
    Tenant of the request.
    """
    request_id: str
    """
    Id of the request that waits.
    """
    call_id: str
    """
    Id of the call, or of the budget or the call whose tool asks, that the answer concerns.
    """
    input_id: str | None
    """
    Id under which a tool's question is answered; null for approvals.
    """
    tool: str
    """
    Tool to be called or asking; for a budget `budget.<limit>`.
    """
    agent: str | None
    """
    Agent of the run; null: no run asks.
    """
    arguments: str | None
    """
    Arguments of the call as JSON with secrets redacted, at most 2,000 characters; null: none, or unknown.
    """
    arguments_cut: bool
    """
    Whether `arguments` was cut.
    """
    message: str | None
    """
    Question of the tool, or reason for more budget, at most 1,000 characters.
    """
    said: str
    """
    End of the model's text before the call, at most 300 characters; empty where the model wrote none.
    """
    query: str | None = None
    """
    Task of the run with secrets redacted, at most 1,000 characters; null: no run asks, or the run is encrypted. Absent: unknown.
    """
    since: str | None
    """
    Instant (UTC) of the question; null: unknown.
    """
    deadline_at: str
    """
    Instant (UTC) at which the approval is denied or the question declined without an answer.
    """
    reminder: int
    """
    Number of the reminder to this endpoint; 0: it is notified for the first time.
    """
    url: str
    """
    Path at the API of the service to which the decision or answer is posted.
    """
    page: str
    """
    Page of the request in the console: an address where `webhooks.public_url` is configured, else a path.
    """
    traceparent: str
    """
    W3C trace context of the run or directive.
    """


class WebhookEventApprovalRequested(Model):
    type: Literal['approval.requested'] = 'approval.requested'
    """
    Type of the event: a tool call or a budget waits for a decision.
    """
    timestamp: str
    """
    Instant (UTC) of the event.
    """
    data: Annotated[
        WebhookEventApprovalRequestedData,
        Field(title='WebhookEventApprovalRequestedData'),
    ]
    """
    The open question as `GET /v1/approvals` lists it, and where it is answered.
    """


class WebhookEventQuestionAskedData(Model):
    kind: Literal['approval', 'budget', 'question'] | str
    """
    Kind of the open question.
    """
    tenant: str
    """
    Tenant of the request.
    """
    request_id: str
    """
    Id of the request that waits.
    """
    call_id: str
    """
    Id of the call, or of the budget or the call whose tool asks, that the answer concerns.
    """
    input_id: str | None
    """
    Id under which a tool's question is answered; null for approvals.
    """
    tool: str
    """
    Tool to be called or asking; for a budget `budget.<limit>`.
    """
    agent: str | None
    """
    Agent of the run; null: no run asks.
    """
    arguments: str | None
    """
    Arguments of the call as JSON with secrets redacted, at most 2,000 characters; null: none, or unknown.
    """
    arguments_cut: bool
    """
    Whether `arguments` was cut.
    """
    message: str | None
    """
    Question of the tool, or reason for more budget, at most 1,000 characters.
    """
    said: str
    """
    End of the model's text before the call, at most 300 characters; empty where the model wrote none.
    """
    query: str | None = None
    """
    Task of the run with secrets redacted, at most 1,000 characters; null: no run asks, or the run is encrypted. Absent: unknown.
    """
    since: str | None
    """
    Instant (UTC) of the question; null: unknown.
    """
    deadline_at: str
    """
    Instant (UTC) at which the approval is denied or the question declined without an answer.
    """
    reminder: int
    """
    Number of the reminder to this endpoint; 0: it is notified for the first time.
    """
    url: str
    """
    Path at the API of the service to which the decision or answer is posted.
    """
    page: str
    """
    Page of the request in the console: an address where `webhooks.public_url` is configured, else a path.
    """
    traceparent: str
    """
    W3C trace context of the run or directive.
    """


class WebhookEventQuestionAsked(Model):
    type: Literal['question.asked'] = 'question.asked'
    """
    Type of the event: a tool waits for an answer.
    """
    timestamp: str
    """
    Instant (UTC) of the event.
    """
    data: Annotated[
        WebhookEventQuestionAskedData, Field(title='WebhookEventQuestionAskedData')
    ]
    """
    The open question as `GET /v1/approvals` lists it, and where it is answered.
    """


class WebhookEventOther(Model):
    type: str
    """
    Type of the event, of a later version.
    """
    timestamp: str
    """
    Instant (UTC) of the event.
    """
    data: dict[str, Any]
    """
    Data of the event.
    """


WebhookEvent = TypeAliasType(
    "WebhookEvent",
    Annotated[
        WebhookEventDirectiveEnded | WebhookEventRunEnded | WebhookEventApprovalRequested | WebhookEventQuestionAsked | WebhookEventOther,
        Field(title='WebhookEvent', union_mode='left_to_right'),
    ],
)


class RunView(Model):
    run_id: str
    """
    Id of the run.
    """
    agent: str
    """
    Name of the agent.
    """
    strategy: str
    """
    Strategy that drives the run.
    """
    status: Literal['pending', 'running', 'waiting', 'completed', 'failed', 'cancelled', 'timeout'] | str
    """
    Status of the run.
    """
    conversation_id: str | None
    """
    Id of the conversation; null: none.
    """
    query: str
    """
    Task of the run, as text.
    """
    iterations: int
    """
    Number of model turns.
    """
    tool_calls: int
    """
    Number of tool calls.
    """
    usage: Usage
    """
    Token usage of the run, with that of its newest 100 redriven calls.
    """
    cost: float | None
    """
    Cost in USD, with that of its newest 100 redriven calls; null: the price of a used model is unknown.
    """
    result: Any
    """
    Result of the run; null: none yet.
    """
    error: Any
    """
    Error that ended the run; null: none.
    """
    details: dict[str, Any] | None = None
    """
    Details beside the result, as in `ai.request.completed`.
    """
    termination_reason: str | None
    """
    Reason why the run ended, such as `final_answer`, `max_iterations` or the name of a budget; null: in progress.
    """
    unread_inputs: list[str] | None = None
    """
    Ids of accepted inputs that the run did not read or answer before its end. Absent: none.
    """
    cancel_requested: Literal[True] | None = None
    """
    Present where a cancellation was requested and the run has not ended yet.
    """
    resumed: int | None = None
    """
    Number of resumes after an end. Absent: none.
    """
    waiting_for: list[RunViewWaitingForItem]
    """
    Events that the run waits for.
    """
    messages: list[RunViewMessagesItem]
    """
    Messages of the run.
    """
    children: list[RunViewChildrenItem]
    """
    Child runs.
    """
    started_at: str | None
    """
    Instant (UTC) of the start; null: not started.
    """
    ended_at: str | None
    """
    Instant (UTC) of the end; null: not ended.
    """
    deadline_at: str | None
    """
    Instant (UTC) by which the run ends at the latest; null: unknown.
    """
    origin: Annotated[RunViewOrigin | None, Field(title='RunViewOrigin')] = None
    """
    Request that the run repeats or was forked from. Absent: none.
    """
    begins_at: str | None = None
    """
    Earliest start (UTC) of a run that has not begun. Absent: it has begun, or may.
    """


class SignalLlmResponseData(Model):
    call_id: str
    """
    Id of the directive that the signal reports on.
    """
    result: Result
    """
    Result: a model turn, or an error.
    """
    usage: Usage | None = None
    """
    Token usage. Absent: not reported.
    """
    model: str | None = None
    """
    Name of the model.
    """
    duration_ms: float | None = None
    """
    Duration of the call, in milliseconds.
    """
    metadata: dict[str, Any]
    """
    Metadata of the directive or run, copied from its submission. Default: {}.
    """


class SignalLlmResponse(Model):
    specversion: Literal['1.0'] = '1.0'
    """
    Version of CloudEvents: `1.0`.
    """
    id: str
    """
    Id of the signal, unique within its source.
    """
    subject: str
    """
    Id of the request that the signal belongs to.
    """
    time: str
    """
    Instant (UTC) at which the signal was written.
    """
    datacontenttype: Literal['application/json'] = 'application/json'
    """
    Media type of `data`: `application/json`.
    """
    traceparent: str
    """
    W3C trace context of the work that the signal reports.
    """
    causationid: str
    """
    Id of the directive, run or signal that caused this signal.
    """
    attempt: int | None = None
    """
    Number of the attempt that the signal reports, from 1. Absent: none.
    """
    sequence: int
    """
    Position of the signal in the log of its request, from 1, without gaps.
    """
    type: Literal['ai.llm.response'] = 'ai.llm.response'
    """
    Type of the signal.
    """
    source: Literal['/ai/llm'] = '/ai/llm'
    """
    CloudEvents source of the signal.
    """
    data: Annotated[SignalLlmResponseData, Field(title='SignalLlmResponseData')]
    """
    Data of the signal.
    """


SubmittedDirective = TypeAliasType(
    "SubmittedDirective",
    Annotated[
        ToolExec | LlmStream | LlmGenerate | LlmEmbed | LlmRequest | EmitToolError | EmitToolResult | EmitRequestError,
        Field(discriminator='type', title='SubmittedDirective'),
    ],
)


KnownSignal = TypeAliasType(
    "KnownSignal",
    Annotated[
        SignalLlmDelta | SignalLlmRaw | SignalLlmResponse | SignalUsage | SignalEmbedResult | SignalToolStarted | SignalToolProgress | SignalToolApprovalRequested | SignalToolInputRequested | SignalToolInputAnswered | SignalToolResult | SignalRequestError | SignalRequestStarted | SignalRequestCompleted | SignalRequestFailed | SignalDirectiveRetryScheduled | SignalDirectiveWaiting | SignalDirectiveRejected | SignalDirectiveIgnored | SignalDirectivePolicyDecided | SignalDirectiveReconciled | SignalRequestInput | SignalRequestCancelRequested | SignalRequestResumed | SignalToolApprovalDecided | SignalAgentScheduled | SignalAgentChildStarted | SignalAgentChildExit | SignalAgentParentExit | SignalAgentError | SignalAgentTierChanged | SignalAgentPhaseChanged | SignalDirectiveResult,
        Field(discriminator='type', title='KnownSignal'),
    ],
)


class RequestView(Model):
    request_id: str
    """
    Id of the request.
    """
    status: Literal['open', 'closed'] | str
    """
    State of the request.
    """
    sequence: int
    """
    Sequence number of the newest signal.
    """
    open: int
    """
    Number of directives and runs that have not ended.
    """
    created_at: str
    """
    Instant (UTC) of the creation.
    """
    closed_at: str | None
    """
    Instant (UTC) of the end; null: open.
    """
    archived: Literal[True] | None = None
    """
    Present where Redis no longer holds the request, and its archive answers: secrets are redacted by their names, and attempts and turns are counted only. Absent: Redis holds it.
    """
    trace_id: str | None = None
    """
    Id of the W3C trace that it belongs to. Absent: unknown.
    """
    trace_url: str | None = None
    """
    Address of the trace in the tracing system. Absent: not configured.
    """
    directives: list[RequestViewDirectivesItem]
    """
    Directives of the request, in the order of acceptance.
    """
    descendants: list[str] | None = None
    """
    Requests that run this one again or were forked from it, oldest first, at most 64. Absent: none.
    """
    run: RunView | None = None
    """
    Run of the request. Absent: the request has none.
    """
    notices: list[RequestViewNoticesItem] | None = None
    """
    Deliveries of the end to webhooks. Absent: none.
    """


Signal = TypeAliasType(
    "Signal", Annotated[KnownSignal | SignalCustom, Field(title='Signal', union_mode='left_to_right')]
)


class SignalPage(Model):
    signals: list[Signal]
    """
    Signals of this page, in the order of `sequence`.
    """
    last_sequence: int
    """
    Sequence number of the last signal of this page.
    """
    more: bool | None = None
    """
    Whether more signals follow because the page is full, by number or bytes. Continue after `last_sequence`.
    """
    closed: bool
    """
    Whether the request is closed, so that no signal follows the last page.
    """


class SubmissionDirectivesItem(Model):
    id: str
    """
    Id of the directive.
    """
    type: Literal['tool_exec', 'llm_stream', 'llm_generate', 'llm_embed', 'llm_request', 'emit_tool_error', 'emit_tool_result', 'emit_request_error'] | str
    """
    Type of the directive.
    """
    status: Literal['accepted', 'existing'] | str
    """
    Whether the directive was accepted by this call, or existed already.
    """
    lane: str | None
    """
    Lane of the directive; null: none.
    """
    digest: str
    """
    Digest of the content, by which a repeat is recognized.
    """
    once: Annotated[
        SubmissionDirectivesItemOnce | None, Field(title='SubmissionDirectivesItemOnce')
    ] = None
    """
    Outcome of `dedupe`, `debounce` or `singleton`. Absent: submitted with none of them.
    """
    result: Signal | None = None
    """
    Terminal signal, where the call waited for it or the directive had ended.
    """


class Submission(Model):
    request_id: str
    """
    Id of the request.
    """
    directives: list[SubmissionDirectivesItem]
    """
    Accepted directives, in the order of their submission.
    """
    links: Annotated[SubmissionLinks, Field(title='SubmissionLinks')]
    """
    Paths of related resources.
    """


class CancellationDirectivesItem(Model):
    id: str
    """
    Id of the directive.
    """
    status: Literal['cancelled', 'requested', 'ended'] | str
    """
    State of the directive. `cancelled`: this call ended it. `requested`: its attempt is being aborted and will report its outcome. `ended`: it had ended before, and its result remains.
    """
    result: Signal | None = None
    """
    The signal that ended it. Only where one directive is cancelled, not all of a request.
    """


class Cancellation(Model):
    request_id: str
    """
    Id of the request.
    """
    directives: list[CancellationDirectivesItem]
    """
    Directives of the request that the cancellation concerned.
    """


class DirectiveView(Model):
    id: str
    """
    Id of the directive.
    """
    type: Literal['tool_exec', 'llm_stream', 'llm_generate', 'llm_embed', 'llm_request', 'emit_tool_error', 'emit_tool_result', 'emit_request_error'] | str
    """
    Type of the directive.
    """
    request_id: str
    """
    Id of the request.
    """
    status: Literal['accepted', 'running', 'waiting', 'succeeded', 'failed'] | str
    """
    State of the directive.
    """
    lane: str | None
    """
    Lane of the directive; null: none.
    """
    attempts: int
    """
    Number of attempts.
    """
    failures: int
    """
    Number of failed attempts that were retried, or will be.
    """
    redeliveries: int
    """
    Number of redeliveries after the death of a worker.
    """
    accepted_at: str
    """
    Instant (UTC) of the acceptance.
    """
    started_at: str | None
    """
    Instant (UTC) of the first attempt; null: not started.
    """
    ended_at: str | None
    """
    Instant (UTC) of the end; null: not ended.
    """
    deadline_at: str
    """
    Instant (UTC) by which the directive ends at the latest.
    """
    next_attempt_at: str | None
    """
    Instant (UTC) of the next attempt; null: none is scheduled.
    """
    begins_at: str | None = None
    """
    Earliest start (UTC) that the caller asked for.
    """
    start_by_at: str | None = None
    """
    Latest start (UTC); after it the directive ends as `expired`.
    """
    digest: str
    """
    Digest of the content, by which a repeat is recognized.
    """
    waiting: Annotated[
        DirectiveViewWaiting | None, Field(title='DirectiveViewWaiting')
    ] = None
    """
    Reason why the directive makes no progress. Absent: it is in flight, has ended, or will be dequeued soon.
    """
    inputs: list[DirectiveViewInputsItem] | None = None
    """
    Open questions of its tool. Absent: none.
    """
    notices: list[DirectiveViewNoticesItem] | None = None
    """
    Deliveries of the end to webhooks. Absent: none.
    """
    trace_id: str | None = None
    """
    Id of the W3C trace that it belongs to. Absent: unknown.
    """
    trace_url: str | None = None
    """
    Address of the trace in the tracing system. Absent: not configured.
    """
    priority: int | None = None
    """
    Priority in the lane, 0 to 9. Absent: the directive does not wait in a lane.
    """
    limits: list[str] | None = None
    """
    Concurrency and rate limits that apply to it, as text. Absent: none.
    """
    result: Signal | None
    """
    Terminal signal; null: not ended.
    """
    directive: dict[str, Any]
    """
    Directive as accepted.
    """
