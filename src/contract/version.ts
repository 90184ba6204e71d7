// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a new version: the contract only grows.

export const CONTRACT_VERSION = '1.3.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = '0670963e91f60bd903265ba91d212909c388d2aad43eaf9bb344f6db41014f37';
