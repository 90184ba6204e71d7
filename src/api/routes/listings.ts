/** GET /v1/tools, /v1/agents, /v1/lanes and /v1/budgets: lists the tools, the agents, the load of the lanes, the budgets of today.
 *  It must never change anything. */
import { agentListingSchema } from '../../contract/agent-listing.ts';
import { budgetListingSchema } from '../../contract/budget-listing.ts';
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

const budgetsSchema = {
  operationId: 'listBudgets',
  summary: 'The budgets of today: tokens and money that models have used, and the limits',
  description:
    'Those of the tenant; the tenant `default` sees also those of all tenants together. A key without the scope `admin` sees of keys only its own.',
  tags: ['service'],
  querystring: noQuery,
  response: { 200: budgetListingSchema, ...problems() },
};

export function listingRoutes(app: App, client: DirectiveClient): void {
  app.get('/v1/tools', { schema: toolsSchema }, async ({ query }) =>
    client.tools({ remembered: query.remembered === 'true' }),
  );
  app.get('/v1/agents', { schema: agentsSchema }, async () => client.agents());
  app.get('/v1/lanes', { schema: lanesSchema }, async () => client.lanes());
  app.get('/v1/budgets', { schema: budgetsSchema }, async () => client.budgets());
}
