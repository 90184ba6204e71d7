// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a new version: the contract only grows.

/** Version of the wire contract. */
export const CONTRACT_VERSION = '1.3.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = 'ebba044f662aa556b59e7cd1b4e01672bb487a8038e18b4f98109dcc781c70f3';
