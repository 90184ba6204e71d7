// emit_request_error: reports that a request failed, with a reason that an engine can read.
// Must never end anything but itself.
import { errorEnvelope } from '../../contract/error-envelope.ts';
import {
  emitRequestErrorSchema,
  type EmitRequestError,
} from '../../contract/directive/immediate-directive.ts';
import { errorResult } from '../../contract/result.ts';
import { defineDirective } from './definition.ts';

export const emitRequestError = defineDirective<EmitRequestError>({
  mode: 'immediate',
  type: 'emit_request_error',
  schema: emitRequestErrorSchema,
  execute: ({ reason, message }) => errorResult(errorEnvelope('execution_error', message, { reason })),
});
