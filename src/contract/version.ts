// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a new version: the contract only grows.

export const CONTRACT_VERSION = '1.2.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = '30eee243be4b8b23f34796d1d105465bf0cf05c0da5b42ff2a49d06165c41b71';
