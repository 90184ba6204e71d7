// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a new version: the contract only grows.

export const CONTRACT_VERSION = '1.3.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = '76d82f31f24f063fd213993a85f371fdd24c587f8ce3dc0593e2f7dd1e02797b';
