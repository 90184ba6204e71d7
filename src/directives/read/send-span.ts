// The spans of a directive's acceptance: sent to its lane, or refused for an unknown name. Reported only after the
// journal has answered: a refused directive has no span.
import { ownId, tenantField } from '../../contract/access/tenant.ts';
import type { Directive } from '../../contract/directive/directive.ts';
import { operationOf } from '../../platform/telemetry/traces/directive-operation.ts';
import { ATTRIBUTE, MESSAGING_SYSTEM } from '../../platform/telemetry/traces/semantic-names.ts';
import type { Attributes, SpanPlace, SpanRecord } from '../../platform/telemetry/traces/span.ts';
import { placeUnder, type SpanParent } from '../../platform/telemetry/traces/span-place.ts';

/** A span without its times. */
export type DraftedSpan = Omit<SpanRecord, 'startedAt' | 'endedAt'>;

type DirectiveRef = Pick<Directive, 'request_id' | 'id' | 'type'>;

/** Attributes of every span of a directive's lane. */
export function laneAttributes(
  { request_id, id, type }: DirectiveRef,
  lane: string,
  operation: 'send' | 'process' | 'settle',
): Attributes {
  return {
    [ATTRIBUTE.messagingSystem]: MESSAGING_SYSTEM,
    [ATTRIBUTE.messagingOperation]: operation,
    [ATTRIBUTE.messagingOperationType]: operation,
    [ATTRIBUTE.messagingDestination]: lane,
    [ATTRIBUTE.messagingMessageId]: `${ownId(request_id)}/${id}`,
    [ATTRIBUTE.messagingConversation]: ownId(request_id),
    [ATTRIBUTE.request]: ownId(request_id),
    ...tenantField(request_id, ATTRIBUTE.tenant),
    [ATTRIBUTE.directive]: id,
    [ATTRIBUTE.directiveType]: type,
  };
}

/** Under it are the attempts: its context travels with the directive. */
export function sendPlace(parent: SpanParent, { request_id, id }: DirectiveRef): SpanPlace {
  return placeUnder(parent, request_id, id, 'send');
}

export function sendSpan(place: SpanPlace, directive: DirectiveRef, lane: string): DraftedSpan {
  const attributes = laneAttributes(directive, lane, 'send');
  return { place, name: `send ${lane}`, kind: 'producer', attributes, error: null };
}

/** Name of an unserved tool or model; null: the directive calls nothing. */
export function refusedSpan(parent: SpanParent, directive: Directive, error: string): DraftedSpan | null {
  const operation = operationOf(directive, null);
  if (operation === null) return null;
  const { request_id, id, type } = directive;
  const about = {
    [ATTRIBUTE.request]: ownId(request_id),
    ...tenantField(request_id, ATTRIBUTE.tenant),
    [ATTRIBUTE.directive]: id,
    [ATTRIBUTE.directiveType]: type,
  };
  const place = placeUnder(parent, request_id, id, 'refused');
  return {
    place,
    name: operation.name,
    kind: 'internal',
    attributes: { ...operation.attributes, ...about },
    error,
  };
}
