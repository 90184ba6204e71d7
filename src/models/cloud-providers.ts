// Models in the clouds of Amazon, Google and Microsoft: their addresses and credentials.
// Must never read a key from the environment, except by Google's own library.
import { AwsV4Signer } from 'aws4fetch';
import { clientSettings, type ModelMaker, type Sign } from './client-settings.ts';
import { chatWire } from './wires/chat.ts';
import { GOOGLE as GOOGLE_WIRE } from './wires/google.ts';
import { MESSAGES } from './wires/messages.ts';
import { RESPONSES } from './wires/responses.ts';
import type {
  AwsCredentials,
  AzureOptions,
  BedrockOptions,
  VertexOptions,
} from './requests/provider-options.ts';

/** The client signs before a request's parameters are changed, so it gets a key, and the signature replaces that. */
export async function bedrock(options: BedrockOptions): Promise<ModelMaker> {
  const { createAmazonBedrock } = await import('@ai-sdk/amazon-bedrock');
  const { region } = options;
  const baseURL = options.baseUrl ?? `https://bedrock-runtime.${region}.amazonaws.com`;
  const credentials = options.credentials();
  const signing =
    credentials === null
      ? {}
      : { sign: awsSignature(credentials, region), hidden: Object.values(credentials) };
  const { key, ...settings } = clientSettings(options, baseURL, { binaryFrames: true, ...signing });
  const client = { region, apiKey: key === '' ? 'signed' : key };
  return {
    language: createAmazonBedrock({ ...settings.language, ...client }).languageModel,
    embedding: createAmazonBedrock({ ...settings.embedding, ...client }).embeddingModel,
  };
}

function awsSignature(credentials: AwsCredentials, region: string): Sign {
  return async (input, init) => {
    if (typeof init?.body !== 'string') return init;
    const headers = new Headers(init.headers);
    headers.delete('authorization');
    const url = input instanceof Request ? input.url : String(input);
    const signer = new AwsV4Signer({
      url,
      method: 'POST',
      headers,
      body: init.body,
      region,
      service: 'bedrock',
      ...credentials,
    });
    return { ...init, headers: (await signer.sign()).headers };
  };
}

/** Gemini, and Claude under its own API. Without a key, Google's library finds the credentials of the environment. */
export async function vertex(options: VertexOptions): Promise<ModelMaker> {
  const { createGoogleVertex } = await import('@ai-sdk/google-vertex');
  const { project, location, baseUrl } = options;
  const host = project === null ? GOOGLE : vertexHost(location);
  const place = project === null ? '' : `/projects/${project}/locations/${location}`;
  // The clients' own addresses: a key belongs to its project, and previews of Gemini are in the beta alone.
  const root = (version: string): string => baseUrl ?? `https://${host}/${version}${place}`;
  const gemini = `${root(project === null ? 'v1' : 'v1beta1')}/publishers/google`;
  const { key, language, embedding } = clientSettings(options, gemini, { wire: GOOGLE_WIRE });
  // Without an empty key, the client would read one from the environment.
  const account = { apiKey: key, location, ...(project === null ? {} : { project }) };
  const google = createGoogleVertex({ ...language, ...account });
  const { createGoogleVertexAnthropic } = await import('@ai-sdk/google-vertex/anthropic');
  const anthropic = `${root('v1')}/publishers/anthropic/models`;
  const claude = createGoogleVertexAnthropic({
    ...clientSettings(options, anthropic, { wire: MESSAGES }).language,
    location,
    ...(project === null ? {} : { project, googleAuthOptions: { projectId: project } }),
  });
  return {
    language: (model) => (model.startsWith('claude') ? claude : google).languageModel(model),
    embedding: createGoogleVertex({ ...embedding, ...account }).embeddingModel,
  };
}

const GOOGLE = 'aiplatform.googleapis.com';

function vertexHost(location: string): string {
  if (location === 'global') return GOOGLE;
  return location === 'eu' || location === 'us'
    ? `aiplatform.${location}.rep.googleapis.com`
    : `${location}-${GOOGLE}`;
}

export async function azure(options: AzureOptions): Promise<ModelMaker> {
  const { createAzure } = await import('@ai-sdk/azure');
  const { apiVersion, api } = options;
  const address = azureAddress(options);
  const wire = api === 'chat' ? chatWire(null) : RESPONSES;
  const { key, language, embedding } = clientSettings(options, address, { wire });
  const client = {
    apiKey: key,
    ...(apiVersion === null ? {} : { apiVersion, useDeploymentBasedUrls: true }),
  };
  const answering = createAzure({ ...language, ...client });
  return {
    language: api === 'chat' ? answering.chat : answering.responses,
    embedding: createAzure({ ...embedding, ...client }).embeddingModel,
  };
}

/** The beginning of every URL of the resource. */
export function azureAddress({ baseUrl, resource, apiVersion }: AzureOptions): string {
  const root = baseUrl ?? `https://${resource ?? ''}.openai.azure.com/openai`;
  return apiVersion === null ? withV1(root) : root;
}

function withV1(root: string): string {
  return root.endsWith('/v1') ? root : `${root}/v1`;
}
