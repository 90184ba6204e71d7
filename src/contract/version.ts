// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a new version: the contract only grows.

export const CONTRACT_VERSION = '1.3.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = '8fc811aaa1e6512b59f2b0b53afca0b48bd883c7964eb3c91d68e6a7c954eebc';
