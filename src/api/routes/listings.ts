/** GET /v1/tools, /v1/agents and /v1/lanes: lists the tools, the agents, and the load of the lanes.
 *  It must never change anything. */
import { agentListingSchema } from '../../contract/agent-listing.ts';
import type { DirectiveClient } from '../../contract/directive-client.ts';
import { laneListingSchema } from '../../contract/lane-listing.ts';
import { toolListingSchema } from '../../contract/tool-listing.ts';
import type { App } from '../app.ts';
import { problems } from '../openapi.ts';
import { noQuery, toolsQuery } from '../request-input.ts';

const toolsSchema = {
  operationId: 'listTools',
  summary: 'The tools of every MCP server, and the state of the servers',
  tags: ['service'],
  querystring: toolsQuery,
  response: { 200: toolListingSchema, ...problems() },
};

const agentsSchema = {
  operationId: 'listAgents',
  summary: 'The agents that runs can use',
  tags: ['service'],
  querystring: noQuery,
  response: { 200: agentListingSchema, ...problems() },
};

const lanesSchema = {
  operationId: 'listLanes',
  summary: 'The lanes and how busy they are',
  tags: ['service'],
  querystring: noQuery,
  response: { 200: laneListingSchema, ...problems() },
};

export function listingRoutes(app: App, client: DirectiveClient): void {
  app.get('/v1/tools', { schema: toolsSchema }, async ({ query }) =>
    client.tools({ remembered: query.remembered === 'true' }),
  );
  app.get('/v1/agents', { schema: agentsSchema }, async () => client.agents());
  app.get('/v1/lanes', { schema: lanesSchema }, async () => client.lanes());
}
