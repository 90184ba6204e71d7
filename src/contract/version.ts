// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a new version: the contract only grows.

export const CONTRACT_VERSION = '1.2.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = '57ecb62e8a26a003bbbce4af84d5cd2f5dc047ccc58f602b7c77aa561ce260ad';
